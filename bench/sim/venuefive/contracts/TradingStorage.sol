// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {Governed} from "./Governed.sol";
import {PairStorage} from "./PairStorage.sol";
import {PriceAggregator} from "./PriceAggregator.sol";
import {
    OpenLimitOrder,
    OpenLimitOrderType,
    Parts,
    PendingMarketOrder,
    PriceOrderType,
    Slot,
    Trade,
    TradeInfo,
    notional
} from "./Types.sol";
import {Usdc} from "./Usdc.sol";

/// What a limit, margin or stop-loss order is about between its request and its price, both in one transaction.
struct PendingAction {
    Slot slot;
    uint8 kind;
    uint256 amount;
    uint256 marginFees;
}

/// Positions, orders and the money: the spender of the traders' allowance, and here the vault too.
contract TradingStorage is Governed {
    Usdc public immutable usdc;
    PriceAggregator public immutable priceAggregator;
    address public immutable trading;
    address public immutable callbacks;
    PairStorage private immutable pairStorage;

    uint256 public maxTradesPerPair = 40;
    uint256 public maxPendingMarketOrders = 5;
    uint256 public maxOpenInterest = 90_000_000e6;
    uint256 public totalOI;
    mapping(address => uint256) private walletOIs;
    /// By pair, then 0 of longs and 1 of shorts.
    mapping(uint256 => uint256[2]) public openInterestUSDC;

    mapping(address => mapping(uint256 => mapping(uint256 => Trade))) private trades;
    mapping(address => mapping(uint256 => mapping(uint256 => TradeInfo))) private infos;
    mapping(address => mapping(uint256 => uint256)) private tradesCounts;

    OpenLimitOrder[] private limitOrders;
    mapping(address => mapping(uint256 => mapping(uint256 => uint256))) public openLimitOrderIds;
    mapping(address => mapping(uint256 => mapping(uint256 => bool))) private hasLimitOrder;
    mapping(address => mapping(uint256 => mapping(uint256 => OpenLimitOrderType))) public openLimitOrderTypes;
    mapping(address => mapping(uint256 => uint256)) public openLimitOrdersCount;

    mapping(uint256 => PendingMarketOrder) private pendingOrders;
    mapping(address => uint256[]) private pendingIds;
    mapping(address => mapping(uint256 => uint256)) public pendingMarketOpenCount;
    mapping(address => mapping(uint256 => uint256)) public pendingMarketCloseCount;
    mapping(uint256 => PendingAction) private actions;

    /// Lists for whoever executes here; the venue's keeper keeps its own.
    uint256[] private allPending;
    mapping(uint256 => uint256) private pendingAt;
    Slot[] private allTrades;
    mapping(address => mapping(uint256 => mapping(uint256 => uint256))) private tradeAt;

    event FeesCharged(address _trader, uint256 _pairIndex, bool _buy, uint256 fee);
    event MarketOpenCanceled(uint256 orderId, address indexed trader, uint256 pairIndex);
    event OIUpdated(bool _open, bool _long, uint256 _pairIndex, uint256 _leveragedPos, uint256 _price);
    /// Nobody is referred here.
    event TradeReferred(
        address _trader,
        address _referrer,
        uint256 _leveragedPosition,
        uint256 _traderFeePostDiscount,
        uint256 _startingFees,
        uint256 _referrerRebate,
        uint256 _pairIndex
    );

    modifier onlyParts() {
        require(msg.sender == trading || msg.sender == callbacks, "ONLY_TRADING");
        _;
    }

    constructor(Parts memory parts) {
        usdc = Usdc(parts.usdc);
        priceAggregator = PriceAggregator(parts.priceAggregator);
        trading = parts.trading;
        callbacks = parts.tradingCallbacks;
        pairStorage = PairStorage(parts.pairStorage);
    }

    // Levers.

    function setMaxTradesPerPair(uint256 count) external onlyGov {
        maxTradesPerPair = count;
    }

    function setMaxPendingMarketOrders(uint256 count) external onlyGov {
        maxPendingMarketOrders = count;
    }

    function setMaxOpenInterest(uint256 value) external onlyGov {
        maxOpenInterest = value;
    }

    // Money.

    function transferUSDC(address from, address to, uint256 amount) external onlyParts {
        if (from == address(this)) usdc.transfer(to, amount);
        else usdc.transferFrom(from, to, amount);
    }

    function chargeFee(address trader, uint256 pairIndex, bool buy, uint256 fee) external onlyParts {
        emit FeesCharged(trader, pairIndex, buy, fee);
    }

    // Positions.

    function storeTrade(Trade memory trade, TradeInfo memory info, bool isPnl) external onlyParts {
        trades[trade.trader][trade.pairIndex][trade.index] = trade;
        infos[trade.trader][trade.pairIndex][trade.index] = info;
        tradesCounts[trade.trader][trade.pairIndex]++;
        pairStorage.setPosType(trade.trader, trade.pairIndex, trade.index, isPnl);
        allTrades.push(Slot(trade.trader, trade.pairIndex, trade.index));
        tradeAt[trade.trader][trade.pairIndex][trade.index] = allTrades.length;
        moveInterest(trade, info.openInterestUSDC, true);
    }

    /// After a change of margin.
    function updateTrade(Trade memory trade) external onlyParts {
        trades[trade.trader][trade.pairIndex][trade.index] = trade;
    }

    function registerPartialTrade(address trader, uint256 pairIndex, uint256 index, uint256 closed) external onlyParts {
        Trade storage trade = trades[trader][pairIndex][index];
        uint256 leveraged = notional(closed, trade.leverage);
        trade.initialPosToken -= closed;
        infos[trader][pairIndex][index].openInterestUSDC -= leveraged;
        moveInterest(trade, leveraged, false);
    }

    function unregisterTrade(address trader, uint256 pairIndex, uint256 index) external onlyParts {
        moveInterest(trades[trader][pairIndex][index], infos[trader][pairIndex][index].openInterestUSDC, false);
        delete trades[trader][pairIndex][index];
        delete infos[trader][pairIndex][index];
        tradesCounts[trader][pairIndex]--;
        pairStorage.setPosType(trader, pairIndex, index, false);
        Slot memory last = allTrades[allTrades.length - 1];
        uint256 i = tradeAt[trader][pairIndex][index];
        allTrades[i - 1] = last;
        tradeAt[last.trader][last.pairIndex][last.index] = i;
        delete tradeAt[trader][pairIndex][index];
        allTrades.pop();
    }

    function updateTp(address trader, uint256 pairIndex, uint256 index, uint256 tp) external onlyParts returns (uint256) {
        Trade storage trade = trades[trader][pairIndex][index];
        trade.tp = pairStorage.correctTp(trade.openPrice, trade.leverage, tp, trade.buy, pairIndex);
        infos[trader][pairIndex][index].tpLastUpdated = block.number;
        return trade.tp;
    }

    function updateSl(address trader, uint256 pairIndex, uint256 index, uint256 sl) external onlyParts {
        trades[trader][pairIndex][index].sl = sl;
        infos[trader][pairIndex][index].slLastUpdated = block.number;
    }

    function moveInterest(Trade memory trade, uint256 leveraged, bool isOpen) private {
        uint256 side = trade.buy ? 0 : 1;
        if (isOpen) {
            openInterestUSDC[trade.pairIndex][side] += leveraged;
            walletOIs[trade.trader] += leveraged;
            totalOI += leveraged;
        } else {
            openInterestUSDC[trade.pairIndex][side] -= leveraged;
            walletOIs[trade.trader] -= leveraged;
            totalOI -= leveraged;
        }
        emit OIUpdated(isOpen, trade.buy, trade.pairIndex, leveraged, trade.openPrice);
    }

    // Market orders that wait.

    function storePendingMarketOrder(PendingMarketOrder memory order, uint256 id, bool isOpen) external onlyParts {
        Trade memory trade = order.trade;
        order.block = block.number;
        pendingOrders[id] = order;
        pendingIds[trade.trader].push(id);
        allPending.push(id);
        pendingAt[id] = allPending.length;
        if (isOpen) {
            pendingMarketOpenCount[trade.trader][trade.pairIndex]++;
        } else {
            pendingMarketCloseCount[trade.trader][trade.pairIndex]++;
            infos[trade.trader][trade.pairIndex][trade.index].beingMarketClosed = true;
        }
    }

    function unregisterPendingMarketOrder(uint256 id, bool isOpen) public onlyParts {
        Trade memory trade = pendingOrders[id].trade;
        uint256[] storage ids = pendingIds[trade.trader];
        for (uint256 i = 0; i < ids.length; i++) {
            if (ids[i] != id) continue;
            ids[i] = ids[ids.length - 1];
            ids.pop();
            break;
        }
        if (isOpen) {
            pendingMarketOpenCount[trade.trader][trade.pairIndex]--;
        } else {
            pendingMarketCloseCount[trade.trader][trade.pairIndex]--;
            infos[trade.trader][trade.pairIndex][trade.index].beingMarketClosed = false;
        }
        uint256 last = allPending[allPending.length - 1];
        allPending[pendingAt[id] - 1] = last;
        pendingAt[last] = pendingAt[id];
        delete pendingAt[id];
        allPending.pop();
        delete pendingOrders[id];
    }

    /// The collateral of an opening goes back, the execution fee does not. An order that does not wait changes nothing.
    function forceUnregisterPendingMarketOrder(uint256 id) external onlyParts {
        if (pendingAt[id] == 0) return;
        Trade memory trade = pendingOrders[id].trade;
        PriceOrderType kind = priceAggregator.getOrder(id).orderType;
        bool isOpen = kind == PriceOrderType.MARKET_OPEN || kind == PriceOrderType.MARKET_OPEN_PNL;
        unregisterPendingMarketOrder(id, isOpen);
        if (isOpen) usdc.transfer(trade.trader, trade.positionSizeUSDC);
        emit MarketOpenCanceled(id, trade.trader, trade.pairIndex);
    }

    function storePendingAction(uint256 id, PendingAction memory action) external onlyParts {
        actions[id] = action;
    }

    function takePendingAction(uint256 id) external onlyParts returns (PendingAction memory action) {
        action = actions[id];
        delete actions[id];
    }

    // Limit orders.

    function storeOpenLimitOrder(OpenLimitOrder memory order, OpenLimitOrderType kind) external onlyParts {
        limitOrders.push(order);
        openLimitOrderIds[order.trader][order.pairIndex][order.index] = limitOrders.length - 1;
        hasLimitOrder[order.trader][order.pairIndex][order.index] = true;
        openLimitOrderTypes[order.trader][order.pairIndex][order.index] = kind;
        openLimitOrdersCount[order.trader][order.pairIndex]++;
    }

    function updateOpenLimitOrder(OpenLimitOrder memory order) external onlyParts {
        order.block = block.number;
        limitOrders[openLimitOrderIds[order.trader][order.pairIndex][order.index]] = order;
    }

    function unregisterOpenLimitOrder(address trader, uint256 pairIndex, uint256 index) external onlyParts {
        OpenLimitOrder memory last = limitOrders[limitOrders.length - 1];
        uint256 id = openLimitOrderIds[trader][pairIndex][index];
        limitOrders[id] = last;
        openLimitOrderIds[last.trader][last.pairIndex][last.index] = id;
        limitOrders.pop();
        delete openLimitOrderIds[trader][pairIndex][index];
        delete hasLimitOrder[trader][pairIndex][index];
        delete openLimitOrderTypes[trader][pairIndex][index];
        openLimitOrdersCount[trader][pairIndex]--;
    }

    // What the venue's own has.

    function openTrades(address _trader, uint256 _pairIndex, uint256 _index) external view returns (Trade memory) {
        return trades[_trader][_pairIndex][_index];
    }

    function openTradesInfo(address _trader, uint256 _pairIndex, uint256 _index)
        external
        view
        returns (TradeInfo memory)
    {
        return infos[_trader][_pairIndex][_index];
    }

    function openTradesCount(address _trader, uint256 _pairIndex) external view returns (uint256) {
        return tradesCounts[_trader][_pairIndex];
    }

    function firstEmptyTradeIndex(address trader, uint256 pairIndex) external view returns (uint256 index) {
        while (index < maxTradesPerPair && trades[trader][pairIndex][index].leverage > 0) index++;
    }

    function firstEmptyOpenLimitIndex(address trader, uint256 pairIndex) external view returns (uint256 index) {
        while (index < maxTradesPerPair && hasLimitOrder[trader][pairIndex][index]) index++;
    }

    function hasOpenLimitOrder(address trader, uint256 pairIndex, uint256 index) external view returns (bool) {
        return hasLimitOrder[trader][pairIndex][index];
    }

    /// Reverts without a text where there is none.
    function getOpenLimitOrder(address _trader, uint256 _pairIndex, uint256 _index)
        external
        view
        returns (OpenLimitOrder memory)
    {
        require(hasLimitOrder[_trader][_pairIndex][_index]);
        return limitOrders[openLimitOrderIds[_trader][_pairIndex][_index]];
    }

    function getOpenLimitOrders() external view returns (OpenLimitOrder[] memory) {
        return limitOrders;
    }

    function getPendingOrderIds(address _trader) external view returns (uint256[] memory) {
        return pendingIds[_trader];
    }

    function pendingOrderIdsCount(address _trader) external view returns (uint256) {
        return pendingIds[_trader].length;
    }

    function reqIDpendingMarketOrder(uint256 orderId) external view returns (PendingMarketOrder memory) {
        return pendingOrders[orderId];
    }

    function walletOI(address _trader) external view returns (uint256) {
        return walletOIs[_trader];
    }

    // What is asked here alone.

    function withinExposureLimits(address trader, uint256 pairIndex, uint256 leveraged) external view returns (bool) {
        return totalOI + leveraged <= maxOpenInterest
            && walletOIs[trader] + leveraged <= (maxOpenInterest * pairStorage.maxWalletOiP(pairIndex)) / 100;
    }

    function pendingList() external view returns (uint256[] memory) {
        return allPending;
    }

    function tradeList() external view returns (Slot[] memory) {
        return allTrades;
    }
}
