// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

// What crosses the contracts of venuefive: its fact sheet, section 4. The order of fields and values is the venue's.

// Scale of prices, leverage and percents.
uint256 constant PRECISION = 1e10;

// Collateral times leverage, in USDC.
function notional(uint256 collateral, uint256 leverage) pure returns (uint256) {
    return (collateral * leverage) / PRECISION;
}

enum OpenLimitOrderType {
    MARKET,
    REVERSAL,
    MOMENTUM,
    MARKET_PNL
}

enum LimitOrder {
    TP,
    SL,
    LIQ,
    OPEN
}

enum UpdateType {
    DEPOSIT,
    WITHDRAW
}

enum PriceSourcing {
    PYTH_CORE,
    PYTH_LAZER
}

enum PriceOrderType {
    MARKET_OPEN,
    MARKET_CLOSE,
    LIMIT_OPEN,
    LIMIT_CLOSE,
    UPDATE_MARGIN,
    UPDATE_SL,
    MARKET_OPEN_PNL,
    MARKET_CLOSE_PNL,
    LIMIT_CLOSE_PNL
}

struct Trade {
    address trader;
    uint256 pairIndex;
    uint256 index;
    /// Zero when it is sent; the collateral once it is open.
    uint256 initialPosToken;
    /// The collateral when it is sent; the time of the block once it is open.
    uint256 positionSizeUSDC;
    uint256 openPrice;
    bool buy;
    uint256 leverage;
    uint256 tp;
    uint256 sl;
    uint256 timestamp;
}

struct TradeInfo {
    uint256 openInterestUSDC;
    uint256 tpLastUpdated;
    uint256 slLastUpdated;
    bool beingMarketClosed;
    uint256 lossProtection;
}

struct OpenLimitOrder {
    address trader;
    uint256 pairIndex;
    uint256 index;
    uint256 positionSize;
    bool buy;
    uint256 leverage;
    uint256 tp;
    uint256 sl;
    uint256 price;
    uint256 slippageP;
    uint256 block;
    uint256 executionFee;
}

struct PendingMarketOrder {
    Trade trade;
    uint256 block;
    uint256 wantedPrice;
    uint256 slippageP;
}

/// Which position, or which slot of a limit order.
struct Slot {
    address trader;
    uint256 pairIndex;
    uint256 index;
}

/// Where the contracts of one deployment lie.
struct Parts {
    address usdc;
    address pairStorage;
    address pairInfos;
    address priceAggregator;
    address tradingStorage;
    address tradingCallbacks;
    address trading;
    address keeper;
}
