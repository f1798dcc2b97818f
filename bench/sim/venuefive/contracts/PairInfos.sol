// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {Governed} from "./Governed.sol";
import {PairStorage} from "./PairStorage.sol";
import {Parts, PRECISION, Trade, notional} from "./Types.sol";

/// What an open position costs while time passes, and where it is liquidated.
contract PairInfos is Governed {
    struct Accumulators {
        uint256 long;
        uint256 short;
        uint256 atBlock;
    }

    struct AtOpen {
        uint256 value;
        bool isSet;
    }

    PairStorage private immutable pairStorage;
    address private immutable callbacks;

    uint256 public liqThreshold = 85;
    /// Of the notional, scaled by PRECISION, of every pair and side. The venue's grows with use and skew.
    uint256 public rolloverFeePerBlockP;
    /// Of positions opened from now on.
    uint256 private tierOfNew;
    mapping(uint256 => Accumulators) private accumulators;
    mapping(address => mapping(uint256 => mapping(uint256 => AtOpen))) private atOpen;
    uint256[] private touched;
    mapping(uint256 => bool) private isTouched;

    constructor(Parts memory parts, uint256 rolloverFeePerBlockP_) {
        pairStorage = PairStorage(parts.pairStorage);
        callbacks = parts.tradingCallbacks;
        rolloverFeePerBlockP = rolloverFeePerBlockP_;
    }

    // Levers.

    function setLiqThreshold(uint256 percent) external onlyGov {
        liqThreshold = percent;
    }

    function setRolloverFeePerBlockP(uint256 value) external onlyGov {
        for (uint256 i = 0; i < touched.length; i++) settle(touched[i]);
        rolloverFeePerBlockP = value;
    }

    /// As time that passes adds them; the fee of a position is this times its notional.
    function addRollover(uint256 pairIndex, uint256 long, uint256 short) external onlyGov {
        settle(pairIndex);
        accumulators[pairIndex].long += long;
        accumulators[pairIndex].short += short;
    }

    function setLossProtectionTier(uint256 tier) external onlyGov {
        tierOfNew = tier;
    }

    // What the callbacks keep here.

    function storeTradeInitialAccFees(address trader, uint256 pairIndex, uint256 index, bool long) external {
        require(msg.sender == callbacks, "ONLY_CALLBACKS");
        settle(pairIndex);
        Accumulators storage now_ = accumulators[pairIndex];
        atOpen[trader][pairIndex][index] = AtOpen(long ? now_.long : now_.short, true);
    }

    function resetTradeInitialAccFees(address trader, uint256 pairIndex, uint256 index) external {
        require(msg.sender == callbacks, "ONLY_CALLBACKS");
        delete atOpen[trader][pairIndex][index];
    }

    // What the venue's own has.

    function getPendingAccRolloverFees(uint256 pairIndex) public view returns (uint256 valueLong, uint256 valueShort) {
        Accumulators storage last = accumulators[pairIndex];
        if (last.atBlock == 0) return (0, 0);
        uint256 grown = (block.number - last.atBlock) * rolloverFeePerBlockP;
        return (last.long + grown, last.short + grown);
    }

    function getTradeRolloverFee(
        address trader,
        uint256 pairIndex,
        uint256 index,
        bool long,
        uint256 collateral,
        uint256 leverage
    ) public view returns (uint256) {
        AtOpen storage opened = atOpen[trader][pairIndex][index];
        if (!opened.isSet || pairStorage.getPosType(trader, pairIndex, index)) return 0;
        (uint256 valueLong, uint256 valueShort) = getPendingAccRolloverFees(pairIndex);
        return (((long ? valueLong : valueShort) - opened.value) * notional(collateral, leverage)) / PRECISION;
    }

    function getTradeLiquidationPrice(
        address trader,
        uint256 pairIndex,
        uint256 index,
        uint256 openPrice,
        bool long,
        uint256 collateral,
        uint256 leverage
    ) external view returns (uint256) {
        uint256 rolloverFee = getTradeRolloverFee(trader, pairIndex, index, long, collateral, leverage);
        return getTradeLiquidationPricePure(openPrice, long, collateral, leverage, rolloverFee);
    }

    function getTradeLiquidationPricePure(
        uint256 openPrice,
        bool long,
        uint256 collateral,
        uint256 leverage,
        uint256 rolloverFee
    ) public view returns (uint256) {
        int256 room = int256((collateral * liqThreshold) / 100) - int256(rolloverFee);
        int256 distance = (int256(openPrice) * room) / int256(notional(collateral, leverage));
        int256 price = long ? int256(openPrice) - distance : int256(openPrice) + distance;
        return price > 0 ? uint256(price) : 0;
    }

    function lossProtectionTier(Trade memory _trade, bool isPnl) external view returns (uint256) {
        (_trade);
        return isPnl ? 0 : tierOfNew;
    }

    // What the callbacks ask.

    /// What is left of the collateral `collateral` of a position; nothing at and below what its liquidation leaves.
    function getTradeValue(Trade memory trade, uint256 collateral, int256 pnl, uint256 fees)
        external
        view
        returns (uint256)
    {
        uint256 rolloverFee = getTradeRolloverFee(
            trade.trader, trade.pairIndex, trade.index, trade.buy, collateral, trade.leverage
        );
        int256 value = int256(collateral) + pnl - int256(rolloverFee);
        if (value <= int256((collateral * (100 - liqThreshold)) / 100)) return 0;
        value -= int256(fees);
        return value > 0 ? uint256(value) : 0;
    }

    function settle(uint256 pairIndex) private {
        (uint256 valueLong, uint256 valueShort) = getPendingAccRolloverFees(pairIndex);
        accumulators[pairIndex] = Accumulators(valueLong, valueShort, block.number);
        if (isTouched[pairIndex]) return;
        isTouched[pairIndex] = true;
        touched.push(pairIndex);
    }
}
