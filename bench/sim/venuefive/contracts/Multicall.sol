// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {PairInfos} from "./PairInfos.sol";
import {PairStorage} from "./PairStorage.sol";
import {PriceAggregator} from "./PriceAggregator.sol";
import {TradingStorage} from "./TradingStorage.sol";
import {OpenLimitOrder, OpenLimitOrderType, Parts, PendingMarketOrder, Slot, Trade, TradeInfo} from "./Types.sol";

/// Reads of many things at once. Arrays of positions are sparse: one entry for each slot, an empty one all zero.
contract Multicall {
    struct Call3 {
        address target;
        bool allowFailure;
        bytes callData;
    }

    struct Call {
        address target;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    struct AggregatedTrade {
        Trade trade;
        TradeInfo tradeInfo;
        uint256 rolloverFee;
        uint256 liquidationPrice;
        bool isPnl;
    }

    struct AggregatedOrder {
        OpenLimitOrder order;
        uint256 liquidationPrice;
    }

    struct PendingOrder {
        uint256 orderId;
        PendingMarketOrder orderInfo;
    }

    TradingStorage private immutable storageT;
    PairStorage private immutable pairStorage;
    PairInfos private immutable pairInfos;
    PriceAggregator private immutable aggregator;

    constructor(Parts memory parts) {
        storageT = TradingStorage(parts.tradingStorage);
        pairStorage = PairStorage(parts.pairStorage);
        pairInfos = PairInfos(parts.pairInfos);
        aggregator = PriceAggregator(parts.priceAggregator);
    }

    function aggregate3(Call3[] calldata calls) external payable returns (Result[] memory returnData) {
        returnData = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; i++) {
            returnData[i] = called(calls[i].target, calls[i].callData);
            require(returnData[i].success || calls[i].allowFailure, "Multicall3: call failed");
        }
    }

    function tryAggregate(bool requireSuccess, Call[] calldata calls)
        external
        payable
        returns (Result[] memory returnData)
    {
        returnData = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; i++) {
            returnData[i] = called(calls[i].target, calls[i].callData);
            require(returnData[i].success || !requireSuccess, "Multicall3: call failed");
        }
    }

    function getPositions(address userAddress)
        external
        view
        returns (AggregatedTrade[] memory, AggregatedOrder[] memory)
    {
        return positions(userAddress, 0, pairStorage.pairsCount(), storageT.maxTradesPerPair());
    }

    function getPositionsForPairIndexes(
        address userAddress,
        uint256 startPairIndex,
        uint256 endPairIndex,
        uint256 maxTradesPerPair
    ) external view returns (AggregatedTrade[] memory, AggregatedOrder[] memory) {
        return positions(userAddress, startPairIndex, endPairIndex, maxTradesPerPair);
    }

    function getPendingOrder(address _trader) external view returns (PendingOrder[] memory pendingOrders) {
        return pendingOf(storageT.getPendingOrderIds(_trader));
    }

    function getFirstEmptyTradeIndexes(address userAddress)
        external
        view
        returns (uint256[] memory firstEmptyTradeIndexes)
    {
        firstEmptyTradeIndexes = new uint256[](pairStorage.pairsCount());
        for (uint256 pair = 0; pair < firstEmptyTradeIndexes.length; pair++)
            firstEmptyTradeIndexes[pair] = storageT.firstEmptyTradeIndex(userAddress, pair);
    }

    function getOpenLimitOrdersCounts(address userAddress)
        external
        view
        returns (uint256[] memory openLimitOrdersCounts)
    {
        openLimitOrdersCounts = new uint256[](pairStorage.pairsCount());
        for (uint256 pair = 0; pair < openLimitOrdersCounts.length; pair++)
            openLimitOrdersCounts[pair] = storageT.openLimitOrdersCount(userAddress, pair);
    }

    function getLiquidationPrice(address trader, uint256 pairIndex, uint256 index)
        external
        view
        returns (uint256 liquidationPrice)
    {
        return liquidationOf(storageT.openTrades(trader, pairIndex, index));
    }

    function getMarginsForPair(uint256 pairIndex)
        external
        view
        returns (
            uint256 rolloverFeePerBlockP,
            uint256 rolloverFeePerBlockLong,
            uint256 rolloverFeePerBlockShort,
            uint256 openInterestUSDCLong,
            uint256 openInterestUSDCShort
        )
    {
        uint256 rate = pairInfos.rolloverFeePerBlockP();
        return (rate, rate, rate, storageT.openInterestUSDC(pairIndex, 0), storageT.openInterestUSDC(pairIndex, 1));
    }

    // What the keeper of this world reads; the venue's has no such call.

    function keeperWork()
        external
        view
        returns (
            PendingOrder[] memory pending,
            AggregatedTrade[] memory trades,
            OpenLimitOrder[] memory orders,
            OpenLimitOrderType[] memory orderTypes,
            uint256[] memory prices
        )
    {
        pending = pendingOf(storageT.pendingList());
        Slot[] memory slots = storageT.tradeList();
        trades = new AggregatedTrade[](slots.length);
        for (uint256 i = 0; i < slots.length; i++)
            fill(trades[i], storageT.openTrades(slots[i].trader, slots[i].pairIndex, slots[i].index));
        orders = storageT.getOpenLimitOrders();
        orderTypes = new OpenLimitOrderType[](orders.length);
        for (uint256 i = 0; i < orders.length; i++)
            orderTypes[i] = storageT.openLimitOrderTypes(orders[i].trader, orders[i].pairIndex, orders[i].index);
        prices = new uint256[](pairStorage.pairsCount());
        for (uint256 pair = 0; pair < prices.length; pair++) prices[pair] = aggregator.price(pair);
    }

    function called(address target, bytes calldata data) private returns (Result memory result) {
        (result.success, result.returnData) = target.call(data);
    }

    function pendingOf(uint256[] memory ids) private view returns (PendingOrder[] memory pending) {
        pending = new PendingOrder[](ids.length);
        for (uint256 i = 0; i < ids.length; i++)
            pending[i] = PendingOrder(ids[i], storageT.reqIDpendingMarketOrder(ids[i]));
    }

    function positions(address trader, uint256 start, uint256 end, uint256 slots)
        private
        view
        returns (AggregatedTrade[] memory trades, AggregatedOrder[] memory orders)
    {
        trades = new AggregatedTrade[]((end - start) * slots);
        orders = new AggregatedOrder[]((end - start) * slots);
        for (uint256 pair = start; pair < end; pair++) {
            // Empty entries are zero already; most pairs have no other.
            if (storageT.openTradesCount(trader, pair) > 0)
                for (uint256 slot = 0; slot < slots; slot++) {
                    Trade memory trade = storageT.openTrades(trader, pair, slot);
                    if (trade.leverage > 0) fill(trades[(pair - start) * slots + slot], trade);
                }
            if (storageT.openLimitOrdersCount(trader, pair) > 0)
                for (uint256 slot = 0; slot < slots; slot++)
                    if (storageT.hasOpenLimitOrder(trader, pair, slot))
                        fillOrder(
                            orders[(pair - start) * slots + slot], storageT.getOpenLimitOrder(trader, pair, slot)
                        );
        }
    }

    function fill(AggregatedTrade memory entry, Trade memory trade) private view {
        entry.trade = trade;
        entry.tradeInfo = storageT.openTradesInfo(trade.trader, trade.pairIndex, trade.index);
        entry.rolloverFee = pairInfos.getTradeRolloverFee(
            trade.trader, trade.pairIndex, trade.index, trade.buy, trade.initialPosToken, trade.leverage
        );
        entry.liquidationPrice = liquidationOf(trade);
        entry.isPnl = pairStorage.getPosType(trade.trader, trade.pairIndex, trade.index);
    }

    function fillOrder(AggregatedOrder memory entry, OpenLimitOrder memory order) private view {
        entry.order = order;
        entry.liquidationPrice =
            pairInfos.getTradeLiquidationPricePure(order.price, order.buy, order.positionSize, order.leverage, 0);
    }

    function liquidationOf(Trade memory trade) private view returns (uint256) {
        if (trade.leverage == 0) return 0;
        return pairInfos.getTradeLiquidationPrice(
            trade.trader,
            trade.pairIndex,
            trade.index,
            trade.openPrice,
            trade.buy,
            trade.initialPosToken,
            trade.leverage
        );
    }
}
