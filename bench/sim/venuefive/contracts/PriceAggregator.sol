// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {Governed} from "./Governed.sol";
import {PairStorage} from "./PairStorage.sol";
import {TradingCallbacks} from "./TradingCallbacks.sol";
import {Parts, PriceOrderType} from "./Types.sol";

/// Numbers the orders that wait for a price, and answers them with the one that was set. Oracle bytes are not read.
contract PriceAggregator is Governed {
    struct Order {
        uint256 pairIndex;
        PriceOrderType orderType;
        bytes32 job;
        bool initiated;
    }

    PairStorage public immutable pairsStorage;
    TradingCallbacks private immutable callbacks;
    address private immutable tradingStorage;
    address private immutable trading;

    /// Of a pair, scaled by PRECISION; 0: there is none.
    mapping(uint256 => uint256) public price;
    mapping(uint256 => Order) private orders;
    uint256 private lastId;

    event PriceReceived(uint256 orderId, uint256 pairIndex, uint256 price);

    constructor(Parts memory parts) {
        pairsStorage = PairStorage(parts.pairStorage);
        callbacks = TradingCallbacks(parts.tradingCallbacks);
        tradingStorage = parts.tradingStorage;
        trading = parts.trading;
    }

    function setPrices(uint256[] calldata pairIndexes, uint256[] calldata prices) external onlyGov {
        for (uint256 i = 0; i < pairIndexes.length; i++) price[pairIndexes[i]] = prices[i];
    }

    function getPrice(uint256 pairIndex, PriceOrderType orderType) external returns (uint256 orderId) {
        require(msg.sender == trading, "ONLY_TRADING");
        orderId = ++lastId;
        orders[orderId] = Order(pairIndex, orderType, 0, true);
    }

    /// Ends the order with its price, and reverts as its callback does. `hasPrice`: whether oracle bytes came with it.
    function fulfill(uint256 orderId, bool hasPrice, int256 spreadP) external payable {
        require(msg.sender == trading, "ONLY_TRADING");
        Order memory order = orders[orderId];
        require(order.initiated, "NO_ORDER");
        uint256 priceNow = hasPrice ? price[order.pairIndex] : 0;
        emit PriceReceived(orderId, order.pairIndex, priceNow);
        PriceOrderType kind = order.orderType;
        if (kind == PriceOrderType.MARKET_OPEN) callbacks.openTradeMarketCallback(orderId, priceNow, spreadP, false);
        else if (kind == PriceOrderType.MARKET_OPEN_PNL) callbacks.openTradeMarketCallback(orderId, priceNow, spreadP, true);
        else if (kind == PriceOrderType.MARKET_CLOSE) callbacks.closeTradeMarketCallback(orderId, priceNow, false);
        else if (kind == PriceOrderType.MARKET_CLOSE_PNL) callbacks.closeTradeMarketCallback(orderId, priceNow, true);
        else if (kind == PriceOrderType.LIMIT_OPEN) callbacks.limitOpenCallback(orderId, priceNow, spreadP);
        else if (kind == PriceOrderType.LIMIT_CLOSE) callbacks.limitCloseCallback(orderId, priceNow, false);
        else if (kind == PriceOrderType.LIMIT_CLOSE_PNL) callbacks.limitCloseCallback(orderId, priceNow, true);
        else if (kind == PriceOrderType.UPDATE_MARGIN) callbacks.updateMarginCallback(orderId, priceNow);
        else callbacks.updateSlCallback(orderId, priceNow);
        orders[orderId].initiated = false;
    }

    function getOrder(uint256 _id) external view returns (Order memory) {
        return orders[_id];
    }

    function openFeeP(uint256 _pairIndex, uint256 _leveragedPositionSize, bool _buy) external view returns (uint256) {
        return pairsStorage.pairOpenFeeP(_pairIndex, _leveragedPositionSize, _buy);
    }

    /// Here the storage keeps what the venue's contract of this name does: the types of limit orders.
    function executions() external view returns (address) {
        return tradingStorage;
    }
}
