// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {Governed} from "./Governed.sol";
import {PairInfos} from "./PairInfos.sol";
import {PairStorage} from "./PairStorage.sol";
import {Trading} from "./Trading.sol";
import {PendingAction, TradingStorage} from "./TradingStorage.sol";
import {
    LimitOrder,
    OpenLimitOrder,
    OpenLimitOrderType,
    Parts,
    PendingMarketOrder,
    PRECISION,
    Trade,
    TradeInfo,
    UpdateType,
    notional
} from "./Types.sol";

/// What becomes of an order at its price.
contract TradingCallbacks is Governed {
    /// Of the collateral that is liquidated: the keeper's percent, and all that is taken.
    uint256 private constant LIQ_FEE_P = 5;
    uint256 private constant LIQ_TOTAL_FEE_P = 10;
    uint256 private constant MAX_REWARD = 10e6;
    /// A withdrawal of margin leaves more than 20 % of the collateral in value.
    uint256 private constant WITHDRAW_THRESHOLD_P = 80;

    TradingStorage private immutable storageT;
    PairStorage private immutable pairStorage;
    PairInfos private immutable pairInfos;
    Trading private immutable trading;
    address private immutable aggregator;

    event LimitExecuted(
        uint256 orderId,
        uint256 limitIndex,
        Trade t,
        LimitOrder orderType,
        uint256 price,
        uint256 positionSizeUSDC,
        int256 percentProfit,
        uint256 usdcSentToTrader,
        bool isPnl
    );
    event MarketExecuted(
        uint256 orderId,
        Trade t,
        bool open,
        uint256 price,
        uint256 positionSizeUSDC,
        int256 percentProfit,
        uint256 usdcSentToTrader,
        bool isPnl
    );
    event MarketOpenCanceled(uint256 orderId, address indexed trader, uint256 pairIndex);
    event SlUpdated(uint256 orderId, address indexed trader, uint256 pairIndex, uint256 index, uint256 newSl);

    modifier onlyAggregator() {
        require(msg.sender == aggregator, "ONLY_AGGREGATOR");
        _;
    }

    constructor(Parts memory parts) {
        storageT = TradingStorage(parts.tradingStorage);
        pairStorage = PairStorage(parts.pairStorage);
        pairInfos = PairInfos(parts.pairInfos);
        trading = Trading(parts.trading);
        aggregator = parts.priceAggregator;
    }

    function openTradeMarketCallback(uint256 orderId, uint256 price, int256 spreadP, bool isPnl) external onlyAggregator {
        PendingMarketOrder memory order = storageT.reqIDpendingMarketOrder(orderId);
        Trade memory t = order.trade;
        require(t.trader != address(0), "NO_ORDER");
        t.openPrice = executionPrice(t.pairIndex, price, spreadP, t.buy, isPnl);
        uint256 slippage = (order.wantedPrice * order.slippageP) / 100 / PRECISION;
        bool isBeyond = t.buy
            ? t.openPrice > order.wantedPrice + slippage
            : t.openPrice < order.wantedPrice - slippage;
        bool isPastTp = t.tp > 0 && (t.buy ? t.openPrice >= t.tp : t.openPrice <= t.tp);
        bool isPastSl = t.sl > 0 && (t.buy ? t.openPrice <= t.sl : t.openPrice >= t.sl);
        require(price != 0 && !isBeyond && !isPastTp && !isPastSl, "HIGH_SLIPPAGE");
        uint256 leveraged = notional(t.positionSizeUSDC, t.leverage);
        require(storageT.withinExposureLimits(t.trader, t.pairIndex, leveraged), "EXPOSURE_LIMITS_BREACHED");
        t = registerTrade(t, isPnl);
        emit MarketExecuted(orderId, t, true, t.openPrice, t.initialPosToken, 0, 0, isPnl);
        storageT.unregisterPendingMarketOrder(orderId, true);
    }

    function closeTradeMarketCallback(uint256 orderId, uint256 price, bool isPnl) external onlyAggregator {
        Trade memory asked = storageT.reqIDpendingMarketOrder(orderId).trade;
        require(asked.trader != address(0), "NO_ORDER");
        Trade memory t = storageT.openTrades(asked.trader, asked.pairIndex, asked.index);
        if (price != 0 && t.leverage > 0) {
            uint256 closed = asked.initialPosToken;
            int256 profitP = profitAt(t, price);
            uint256 sent = unregisterTrade(t, closed, profitP, closingFee(t, closed, profitP), 0, isPnl);
            emit MarketExecuted(orderId, t, false, price, closed, profitP, sent, isPnl);
        } else {
            emit MarketOpenCanceled(orderId, asked.trader, asked.pairIndex);
        }
        storageT.unregisterPendingMarketOrder(orderId, false);
    }

    /// An order that may not fill at this price rests on, without an event.
    function limitOpenCallback(uint256 orderId, uint256 price, int256 spreadP) external onlyAggregator {
        PendingAction memory action = storageT.takePendingAction(orderId);
        OpenLimitOrder memory o =
            storageT.getOpenLimitOrder(action.slot.trader, action.slot.pairIndex, action.slot.index);
        uint256 filled = fillPrice(o, price, spreadP);
        if (filled == 0) return;
        Trade memory t = registerTrade(
            Trade(o.trader, o.pairIndex, 0, 0, o.positionSize, filled, o.buy, o.leverage, o.tp, o.sl, 0), false
        );
        storageT.unregisterOpenLimitOrder(o.trader, o.pairIndex, o.index);
        emit LimitExecuted(
            orderId, o.index, t, LimitOrder.OPEN, t.openPrice, t.initialPosToken, int256(o.price), price, false
        );
    }

    /// One whose condition does not hold at this price changes nothing, without an event.
    function limitCloseCallback(uint256 orderId, uint256 price, bool isPnl) external onlyAggregator {
        PendingAction memory action = storageT.takePendingAction(orderId);
        Trade memory t = storageT.openTrades(action.slot.trader, action.slot.pairIndex, action.slot.index);
        LimitOrder kind = LimitOrder(action.kind);
        if (price == 0 || t.leverage == 0 || !isTriggered(t, kind, price)) return;
        uint256 closedAt = closePrice(t, kind, price);
        int256 profitP = profitAt(t, closedAt);
        uint256 sent = triggeredClose(t, kind, profitP, isPnl);
        emit LimitExecuted(orderId, price, t, kind, closedAt, t.initialPosToken, profitP, sent, isPnl);
    }

    /// Closes the whole position, and pays the keeper its reward. Returns what the trader got.
    function triggeredClose(Trade memory t, LimitOrder kind, int256 profitP, bool isPnl) private returns (uint256 sent) {
        uint256 reward;
        uint256 fee;
        if (kind == LimitOrder.LIQ) {
            reward = (t.initialPosToken * LIQ_FEE_P) / 100;
            fee = (reward * (LIQ_TOTAL_FEE_P - LIQ_FEE_P)) / LIQ_FEE_P;
        } else {
            reward = (t.initialPosToken * pairStorage.pairLimitOrderFeeP(t.pairIndex)) / 100 / PRECISION;
            if (reward > MAX_REWARD) reward = MAX_REWARD;
            fee = closingFee(t, t.initialPosToken, profitP);
        }
        sent = unregisterTrade(t, t.initialPosToken, profitP, fee, reward, isPnl);
        storageT.transferUSDC(address(storageT), trading.operator(), reward);
    }

    /// The position has its new margin already; a withdrawal that leaves too little undoes all.
    function updateMarginCallback(uint256 orderId, uint256 price) external onlyAggregator {
        PendingAction memory action = storageT.takePendingAction(orderId);
        Trade memory t = storageT.openTrades(action.slot.trader, action.slot.pairIndex, action.slot.index);
        if (UpdateType(action.kind) == UpdateType.DEPOSIT) {
            storageT.transferUSDC(t.trader, address(storageT), action.amount);
        } else {
            require(price > 0, "ZERO_PRICE");
            int256 profitP = profitAt(t, price);
            int256 collateral = int256(t.initialPosToken);
            int256 value = collateral + protectedPnl(t, t.initialPosToken, profitP);
            require(value > (collateral * int256(100 - WITHDRAW_THRESHOLD_P)) / 100, "W_T_B");
            require(profitP < pairStorage.maxGainP(t.pairIndex), "P_T_B");
            storageT.transferUSDC(address(storageT), t.trader, action.amount);
        }
        pairInfos.storeTradeInitialAccFees(t.trader, t.pairIndex, t.index, t.buy);
    }

    function updateSlCallback(uint256 orderId, uint256 price) external onlyAggregator {
        PendingAction memory action = storageT.takePendingAction(orderId);
        Trade memory t = storageT.openTrades(action.slot.trader, action.slot.pairIndex, action.slot.index);
        uint256 newSl = action.amount;
        if (price == 0 || (t.buy ? newSl > price : newSl < price)) return;
        storageT.updateSl(t.trader, t.pairIndex, t.index, newSl);
        emit SlUpdated(orderId, t.trader, t.pairIndex, t.index, newSl);
    }

    /// At which the order opens; zero where it may not.
    function fillPrice(OpenLimitOrder memory o, uint256 price, int256 spreadP) private view returns (uint256) {
        OpenLimitOrderType kind = storageT.openLimitOrderTypes(o.trader, o.pairIndex, o.index);
        bool isRising = o.buy == (kind == OpenLimitOrderType.REVERSAL);
        if (price == 0 || (isRising ? price < o.price : price > o.price)) return 0;
        if (!storageT.withinExposureLimits(o.trader, o.pairIndex, notional(o.positionSize, o.leverage))) return 0;
        uint256 filled = executionPrice(o.pairIndex, price, spreadP, o.buy, false);
        uint256 slippage = (o.price * o.slippageP) / 100 / PRECISION;
        return (o.buy ? filled > o.price + slippage : filled < o.price - slippage) ? 0 : filled;
    }

    /// The keeper's own spread, or that of the pair.
    function executionPrice(uint256 pairIndex, uint256 price, int256 spreadP, bool buy, bool isPnl)
        private
        view
        returns (uint256)
    {
        uint256 spread = spreadP > 0 ? uint256(spreadP) : pairStorage.pairSpreadP(pairIndex, isPnl);
        uint256 difference = (price * spread) / 100 / PRECISION;
        return buy ? price + difference : price - difference;
    }

    function isTriggered(Trade memory t, LimitOrder kind, uint256 price) private view returns (bool) {
        if (kind == LimitOrder.TP) return t.tp > 0 && (t.buy ? price >= t.tp : price <= t.tp);
        if (kind == LimitOrder.SL) return t.sl > 0 && (t.buy ? price <= t.sl : price >= t.sl);
        uint256 liquidation = pairInfos.getTradeLiquidationPrice(
            t.trader, t.pairIndex, t.index, t.openPrice, t.buy, t.initialPosToken, t.leverage
        );
        return t.buy ? price <= liquidation : price >= liquidation;
    }

    /// Of a pair whose stops are guaranteed the trigger itself, unless a stop lies on the profit's side.
    function closePrice(Trade memory t, LimitOrder kind, uint256 price) private view returns (uint256) {
        if (kind == LimitOrder.LIQ || !pairStorage.guaranteedSlEnabled(t.pairIndex)) return price;
        if (kind == LimitOrder.TP) return t.tp;
        return (t.buy ? t.sl > t.openPrice : t.sl < t.openPrice) ? price : t.sl;
    }

    function profitAt(Trade memory t, uint256 price) private view returns (int256) {
        return pairStorage.currentPercentProfit(t.openPrice, price, t.buy, t.leverage, t.pairIndex);
    }

    function pnlOf(uint256 collateral, int256 profitP) private pure returns (int256) {
        return (int256(collateral) * profitP) / int256(PRECISION) / 100;
    }

    function protectedPnl(Trade memory t, uint256 collateral, int256 profitP) private view returns (int256) {
        int256 pnl = pnlOf(collateral, profitP);
        if (pnl >= 0) return pnl;
        uint256 tier = storageT.openTradesInfo(t.trader, t.pairIndex, t.index).lossProtection;
        return (pnl * int256(100 - pairStorage.lossProtectionMultiplier(t.pairIndex, tier))) / 100;
    }

    /// Of what the closed part is worth at its leverage; none where the loss eats the collateral.
    function closingFee(Trade memory t, uint256 closed, int256 profitP) private view returns (uint256) {
        int256 pnl = pnlOf(closed, profitP);
        if (-pnl >= int256(closed)) return 0;
        uint256 leveraged = uint256(int256(notional(closed, t.leverage)) + pnl);
        return (leveraged * pairStorage.pairCloseFeeP(t.pairIndex)) / 100 / PRECISION;
    }

    function registerTrade(Trade memory t, bool isPnl) private returns (Trade memory) {
        if (!isPnl) {
            uint256 leveraged = notional(t.positionSizeUSDC, t.leverage);
            uint256 fee = (leveraged * pairStorage.pairOpenFeeP(t.pairIndex, leveraged, t.buy)) / 100 / PRECISION;
            storageT.chargeFee(t.trader, t.pairIndex, t.buy, fee);
            t.positionSizeUSDC -= fee;
        }
        t.initialPosToken = t.positionSizeUSDC;
        t.positionSizeUSDC = block.timestamp;
        t.timestamp = block.timestamp;
        t.index = storageT.firstEmptyTradeIndex(t.trader, t.pairIndex);
        t.tp = pairStorage.correctTp(t.openPrice, t.leverage, t.tp, t.buy, t.pairIndex);
        t.sl = pairStorage.correctSl(t.openPrice, t.leverage, t.sl, t.buy, t.pairIndex);
        pairInfos.storeTradeInitialAccFees(t.trader, t.pairIndex, t.index, t.buy);
        TradeInfo memory info = TradeInfo(
            notional(t.initialPosToken, t.leverage),
            block.number,
            block.number,
            false,
            pairInfos.lossProtectionTier(t, isPnl)
        );
        storageT.storeTrade(t, info, isPnl);
        return t;
    }

    /// Pays the trader what is left of the closed part. A position without fees gives a share of its profit instead.
    function unregisterTrade(
        Trade memory t,
        uint256 closed,
        int256 profitP,
        uint256 fee,
        uint256 reward,
        bool isPnl
    ) private returns (uint256 sent) {
        if (isPnl) fee = pairStorage.getPnlBasedFee(t.pairIndex, closed, profitP);
        storageT.chargeFee(t.trader, t.pairIndex, t.buy, fee);
        sent = pairInfos.getTradeValue(t, closed, protectedPnl(t, closed, profitP), fee + reward);
        if (sent > 0) storageT.transferUSDC(address(storageT), t.trader, sent);
        if (closed < t.initialPosToken) {
            storageT.registerPartialTrade(t.trader, t.pairIndex, t.index, closed);
        } else {
            storageT.unregisterTrade(t.trader, t.pairIndex, t.index);
            pairInfos.resetTradeInitialAccFees(t.trader, t.pairIndex, t.index);
        }
    }
}
