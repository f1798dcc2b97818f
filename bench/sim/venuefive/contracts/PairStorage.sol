// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {Governed} from "./Governed.sol";
import {Parts, PRECISION} from "./Types.sol";

struct Feed {
    uint256 maxOpenDeviationP;
    uint256 maxCloseDeviationP;
    bytes32 feedId;
}

struct BackupFeed {
    uint256 maxDeviationP;
    address feedId;
}

struct Leverages {
    uint256 minLeverage;
    uint256 maxLeverage;
    uint256 pnlMinLeverage;
    uint256 pnlMaxLeverage;
}

/// `maxGainP` and `maxSlP` are whole percents; the shares of open interest too.
struct Values {
    int256 maxGainP;
    int256 maxSlP;
    uint256 maxLongOiP;
    uint256 maxShortOiP;
    uint256 groupOpenInterestPecentage;
    uint256 maxWalletOI;
    bool isUSDCAligned;
}

struct Pair {
    Feed feed;
    BackupFeed backupFeed;
    uint256 spreadP;
    uint256 pnlSpreadP;
    Leverages leverages;
    uint256 priceImpactMultiplier;
    int256 skewImpactMultiplier;
    uint256 groupIndex;
    uint256 feeIndex;
    Values values;
}

/// A group of pairs with the same fees.
struct Fees {
    uint256 openFeeP;
    uint256 closeFeeP;
    uint256 limitOrderFeeP;
    uint256 minLevPosUSDC;
}

/// Which pairs there are, within which limits, and for which fees.
contract PairStorage is Governed {
    address private immutable tradingStorage;
    address private immutable tradingCallbacks;

    uint256 public pairsCount;
    mapping(uint256 => Pair) public pairs;
    mapping(uint256 => string) private bases;
    mapping(uint256 => string) private quotes;
    mapping(uint256 => uint256[]) private tiers;
    mapping(uint256 => uint256[]) private timers;
    mapping(uint256 => Fees) private fees;
    mapping(uint256 => bool) public isPnlOrderTypeAllowed;
    mapping(uint256 => bool) private guaranteed;
    /// Percent of a loss that is not counted, by pair and tier.
    mapping(uint256 => mapping(uint256 => uint256)) private protection;
    mapping(address => mapping(uint256 => mapping(uint256 => bool))) private posType;
    uint256[] private pnlTiersP;
    uint256[] private pnlFeesP;

    constructor(Parts memory parts, Fees memory first, uint256[] memory pnlTiersP_, uint256[] memory pnlFeesP_) {
        tradingStorage = parts.tradingStorage;
        tradingCallbacks = parts.tradingCallbacks;
        fees[0] = first;
        pnlTiersP = pnlTiersP_;
        pnlFeesP = pnlFeesP_;
    }

    // Levers.

    /// Lists pairs behind those there are. `isPnl` of each: whether positions without fees are allowed.
    function addPairs(string[] calldata symbols, Pair[] calldata pairs_, bool[] calldata isPnl) external onlyGov {
        for (uint256 i = 0; i < symbols.length; i++) {
            uint256 pairIndex = pairsCount++;
            pairs[pairIndex] = pairs_[i];
            bases[pairIndex] = symbols[i];
            quotes[pairIndex] = "USD";
            isPnlOrderTypeAllowed[pairIndex] = isPnl[i];
            tiers[pairIndex].push(0);
            timers[pairIndex].push(0);
        }
    }

    function renamePair(uint256 pairIndex, string calldata symbol) external onlyGov {
        bases[pairIndex] = symbol;
    }

    function setPair(uint256 pairIndex, Pair calldata pair) external onlyGov {
        pairs[pairIndex] = pair;
    }

    function setFees(uint256 feeIndex, Fees calldata fees_) external onlyGov {
        fees[feeIndex] = fees_;
    }

    /// `seconds_` that a position of at least so much USDC stays open, by rising thresholds.
    function setTimers(uint256 pairIndex, uint256[] calldata thresholds, uint256[] calldata seconds_) external onlyGov {
        tiers[pairIndex] = thresholds;
        timers[pairIndex] = seconds_;
    }

    function setGuaranteedSl(uint256 pairIndex, bool isGuaranteed) external onlyGov {
        guaranteed[pairIndex] = isGuaranteed;
    }

    function setLossProtection(uint256 pairIndex, uint256 tier, uint256 percent) external onlyGov {
        protection[pairIndex][tier] = percent;
    }

    function setPosType(address trader, uint256 pairIndex, uint256 index, bool isPnl) external {
        require(msg.sender == tradingStorage, "ONLY_STORAGE");
        posType[trader][pairIndex][index] = isPnl;
    }

    // What the venue's own has.

    function getPairData(uint256 _pairIndex)
        external
        view
        returns (
            string memory from,
            string memory to,
            uint256 numTiers,
            uint256[] memory tierThresholds,
            uint256[] memory timer
        )
    {
        tierThresholds = tiers[_pairIndex];
        return (bases[_pairIndex], quotes[_pairIndex], tierThresholds.length, tierThresholds, timers[_pairIndex]);
    }

    function getPosType(address trader, uint256 pairIndex, uint256 index) external view returns (bool) {
        return posType[trader][pairIndex][index];
    }

    function guaranteedSlEnabled(uint256 _pairIndex) external view returns (bool) {
        return guaranteed[_pairIndex];
    }

    function lossProtectionMultiplier(uint256 _pairIndex, uint256 _tier) external view returns (uint256) {
        return protection[_pairIndex][_tier];
    }

    function pairOpenFeeP(uint256 _pairIndex, uint256 _leveragedPosition, bool _buy) external view returns (uint256) {
        // The venue's fee may follow from size and side; here it does not.
        (_leveragedPosition, _buy);
        return fees[pairs[_pairIndex].feeIndex].openFeeP;
    }

    function pairCloseFeeP(uint256 _pairIndex) external view returns (uint256) {
        return fees[pairs[_pairIndex].feeIndex].closeFeeP;
    }

    function pairLimitOrderFeeP(uint256 _pairIndex) external view returns (uint256) {
        return fees[pairs[_pairIndex].feeIndex].limitOrderFeeP;
    }

    function pairMinLevPosUSDC(uint256 _pairIndex) external view returns (uint256) {
        return fees[pairs[_pairIndex].feeIndex].minLevPosUSDC;
    }

    function pairMinLeverage(uint256 _pairIndex, bool _isPnl) external view returns (uint256) {
        Leverages storage leverages = pairs[_pairIndex].leverages;
        return _isPnl ? leverages.pnlMinLeverage : leverages.minLeverage;
    }

    function pairMaxLeverage(uint256 _pairIndex, bool _isPnl) external view returns (uint256) {
        Leverages storage leverages = pairs[_pairIndex].leverages;
        return _isPnl ? leverages.pnlMaxLeverage : leverages.maxLeverage;
    }

    function pairSpreadP(uint256 _pairIndex, bool _isPnl) external view returns (uint256 spreadP) {
        return _isPnl ? pairs[_pairIndex].pnlSpreadP : pairs[_pairIndex].spreadP;
    }

    /// The share of a profit: the fee of the first tier above it, of the last one where none is.
    function getPnlBasedFee(uint256 pairIndex, uint256 collateral, int256 percentProfit)
        external
        view
        returns (uint256)
    {
        (pairIndex);
        if (percentProfit <= 0) return 0;
        uint256 profit = (collateral * uint256(percentProfit)) / PRECISION / 100;
        uint256 tier = 0;
        while (tier + 1 < pnlTiersP.length && pnlTiersP[tier] <= uint256(percentProfit)) tier++;
        return (profit * pnlFeesP[tier]) / PRECISION / 100;
    }

    // What the other contracts ask.

    function openCloseThreshold(uint256 pairIndex, uint256 leveragedPosition) external view returns (uint256) {
        uint256[] storage thresholds = tiers[pairIndex];
        for (uint256 tier = thresholds.length; tier > 0; tier--)
            if (leveragedPosition >= thresholds[tier - 1]) return timers[pairIndex][tier - 1];
        return 0;
    }

    function maxWalletOiP(uint256 pairIndex) external view returns (uint256) {
        return pairs[pairIndex].values.maxWalletOI;
    }

    function maxGainP(uint256 pairIndex) public view returns (int256) {
        return pairs[pairIndex].values.maxGainP * int256(PRECISION);
    }

    function currentPercentProfit(uint256 openPrice, uint256 price, bool buy, uint256 leverage, uint256 pairIndex)
        public
        view
        returns (int256)
    {
        int256 diff = buy ? int256(price) - int256(openPrice) : int256(openPrice) - int256(price);
        int256 p = (diff * 100 * int256(leverage)) / int256(openPrice);
        int256 most = maxGainP(pairIndex);
        int256 least = -100 * int256(PRECISION);
        return p > most ? most : p < least ? least : p;
    }

    function correctTp(uint256 openPrice, uint256 leverage, uint256 tp, bool buy, uint256 pairIndex)
        external
        view
        returns (uint256)
    {
        if (tp != 0 && currentPercentProfit(openPrice, tp, buy, leverage, pairIndex) < maxGainP(pairIndex)) return tp;
        uint256 distance = (openPrice * uint256(maxGainP(pairIndex))) / leverage / 100;
        if (buy) return openPrice + distance;
        return distance < openPrice ? openPrice - distance : 0;
    }

    function correctSl(uint256 openPrice, uint256 leverage, uint256 sl, bool buy, uint256 pairIndex)
        external
        view
        returns (uint256)
    {
        int256 most = pairs[pairIndex].values.maxSlP * int256(PRECISION);
        if (sl == 0 || currentPercentProfit(openPrice, sl, buy, leverage, pairIndex) >= -most) return sl;
        uint256 distance = (openPrice * uint256(most)) / leverage / 100;
        return buy ? openPrice - distance : openPrice + distance;
    }
}
