/**
 * The contracts that venuefive is spoken to through, as the vendor published them for v1.5 (its SDK v0.8.17; OpenLimitPlaced
 * with the field of the last v1.5 contract): in the human-readable form that viem's `parseAbi` reads. Scales: prices,
 * leverage and percents 1e10, USDC 1e6, timestamps in seconds.
 *
 * `openTrade` takes the collateral in `positionSizeUSDC`; a stored trade has it in `initialPosToken`.
 */

export const TRADING_ABI = [
  "struct Trade { address trader; uint256 pairIndex; uint256 index; uint256 initialPosToken; uint256 positionSizeUSDC; uint256 openPrice; bool buy; uint256 leverage; uint256 tp; uint256 sl; uint256 timestamp; }",
  "event LimitOrderInitiated(address indexed trader, uint256 pairIndex, uint256 orderId, uint256 timestamp)",
  "event MarginUpdated(address indexed trader, uint256 pairIndex, uint256 index, uint8 _type, Trade newTrade, uint256 marginFees, uint256 lossProtectionTier, uint256 timestamp)",
  "event MarketOrderInitiated(address indexed trader, uint256 pairIndex, bool open, uint256 orderId, uint256 timestamp, bool isBuy, bool isPnl, uint256 initialPosToken, uint256 leverage)",
  "event OpenLimitCanceled(address indexed trader, uint256 pairIndex, uint256 index, uint256 timestamp, uint256 collateral)",
  "event OpenLimitPlaced(address indexed trader, uint256 pairIndex, uint256 index, bool isBuy, uint256 openPrice, uint256 executionFee, uint8 orderType, uint256 slippageP, uint256 collateral, uint256 leverage)",
  "event OpenLimitUpdated(address indexed trader, uint256 pairIndex, uint256 index, uint256 newPrice, uint256 newTp, uint256 newSl, uint256 timestamp)",
  "event SlUpdateInitiated(address indexed trader, uint256 pairIndex, uint256 index, uint256 newSl, uint256 orderId, uint256 timestamp)",
  "event SlUpdated(address indexed trader, uint256 pairIndex, uint256 index, uint256 newSl, uint256 timestamp)",
  "event TpUpdated(address indexed trader, uint256 pairIndex, uint256 index, uint256 newTp, uint256 timestamp)",
  "function cancelOpenLimitOrder(uint256 _pairIndex, uint256 _index)",
  "function closeTradeMarket(uint256 _pairIndex, uint256 _index, uint256 _amount) payable returns (uint256 orderId)",
  "function delegatedAction(address trader, bytes call_data) payable returns (bytes)",
  "function delegations(address) view returns (address)",
  "function limitOrdersTimelock() view returns (uint256)",
  "function openTrade(Trade t, uint8 _type, uint256 _slippageP) payable returns (uint256 orderId)",
  "function paused() view returns (bool)",
  "function removeDelegate()",
  "function setDelegate(address delegate)",
  "function storageT() view returns (address)",
  "function updateMargin(uint256 _pairIndex, uint256 _index, uint8 _type, uint256 _amount, bytes[] priceUpdateData) payable returns (uint256 orderId)",
  "function updateMargin(uint256 _pairIndex, uint256 _index, uint8 _type, uint256 _amount, bytes[] priceUpdateData, uint8 _priceSourcing) payable returns (uint256 orderId)",
  "function updateOpenLimitOrder(uint256 _pairIndex, uint256 _index, uint256 _price, uint256 _slippageP, uint256 _tp, uint256 _sl)",
  "function updateTpAndSl(uint256 _pairIndex, uint256 _index, uint256 _newSl, uint256 _newTP, bytes[] priceUpdateData) payable",
  "function updateTpAndSl(uint256 _pairIndex, uint256 _index, uint256 _newSl, uint256 _newTP, bytes[] priceUpdateData, uint8 _priceSourcing) payable",
] as const;

export const TRADING_STORAGE_ABI = [
  "struct Trade { address trader; uint256 pairIndex; uint256 index; uint256 initialPosToken; uint256 positionSizeUSDC; uint256 openPrice; bool buy; uint256 leverage; uint256 tp; uint256 sl; uint256 timestamp; }",
  "struct TradeInfo { uint256 openInterestUSDC; uint256 tpLastUpdated; uint256 slLastUpdated; bool beingMarketClosed; uint256 lossProtection; }",
  "struct OpenLimitOrder { address trader; uint256 pairIndex; uint256 index; uint256 positionSize; bool buy; uint256 leverage; uint256 tp; uint256 sl; uint256 price; uint256 slippageP; uint256 block; uint256 executionFee; }",
  "struct PendingMarketOrder { Trade trade; uint256 block; uint256 wantedPrice; uint256 slippageP; }",
  "event MarketOpenCanceled(uint256 orderId, address indexed trader, uint256 pairIndex)",
  "function callbacks() view returns (address)",
  "function getOpenLimitOrder(address _trader, uint256 _pairIndex, uint256 _index) view returns (OpenLimitOrder)",
  "function getPendingOrderIds(address _trader) view returns (uint256[])",
  "function hasOpenLimitOrder(address trader, uint256 pairIndex, uint256 index) view returns (bool)",
  "function maxPendingMarketOrders() view returns (uint256)",
  "function maxTradesPerPair() view returns (uint256)",
  "function openLimitOrdersCount(address, uint256) view returns (uint256)",
  "function openTrades(address _trader, uint256 _pairIndex, uint256 _index) view returns (Trade)",
  "function openTradesCount(address _trader, uint256 _pairIndex) view returns (uint256)",
  "function openTradesInfo(address _trader, uint256 _pairIndex, uint256 _index) view returns (TradeInfo)",
  "function pendingOrderIdsCount(address _trader) view returns (uint256)",
  "function reqIDpendingMarketOrder(uint256 orderId) view returns (PendingMarketOrder)",
  "function usdc() view returns (address)",
] as const;

export const TRADING_CALLBACKS_ABI = [
  "struct Trade { address trader; uint256 pairIndex; uint256 index; uint256 initialPosToken; uint256 positionSizeUSDC; uint256 openPrice; bool buy; uint256 leverage; uint256 tp; uint256 sl; uint256 timestamp; }",
  "event LimitExecuted(uint256 orderId, uint256 limitIndex, Trade t, uint8 orderType, uint256 price, uint256 positionSizeUSDC, int256 percentProfit, uint256 usdcSentToTrader, bool isPnl)",
  "event MarketExecuted(uint256 orderId, Trade t, bool open, uint256 price, uint256 positionSizeUSDC, int256 percentProfit, uint256 usdcSentToTrader, bool isPnl)",
  "event MarketOpenCanceled(uint256 orderId, address indexed trader, uint256 pairIndex)",
  "event SlUpdated(uint256 orderId, address indexed trader, uint256 pairIndex, uint256 index, uint256 newSl)",
] as const;

export const MULTICALL_ABI = [
  "struct Trade { address trader; uint256 pairIndex; uint256 index; uint256 initialPosToken; uint256 positionSizeUSDC; uint256 openPrice; bool buy; uint256 leverage; uint256 tp; uint256 sl; uint256 timestamp; }",
  "struct TradeInfo { uint256 openInterestUSDC; uint256 tpLastUpdated; uint256 slLastUpdated; bool beingMarketClosed; uint256 lossProtection; }",
  "struct OpenLimitOrder { address trader; uint256 pairIndex; uint256 index; uint256 positionSize; bool buy; uint256 leverage; uint256 tp; uint256 sl; uint256 price; uint256 slippageP; uint256 block; uint256 executionFee; }",
  "struct AggregatedTrade { Trade trade; TradeInfo tradeInfo; uint256 rolloverFee; uint256 liquidationPrice; bool isPnl; }",
  "struct AggregatedOrder { OpenLimitOrder order; uint256 liquidationPrice; }",
  "struct PendingMarketOrder { Trade trade; uint256 block; uint256 wantedPrice; uint256 slippageP; }",
  "struct PendingOrder { uint256 orderId; PendingMarketOrder orderInfo; }",
  "struct Call { address target; bool allowFailure; bytes callData; }",
  "struct CallResult { bool success; bytes returnData; }",
  "function aggregate3(Call[] calls) payable returns (CallResult[] returnData)",
  "function getLiquidationPrice(address trader, uint256 pairIndex, uint256 index) view returns (uint256 liquidationPrice)",
  "function getPendingOrder(address _trader) view returns (PendingOrder[] pendingOrders)",
  "function getPositions(address userAddress) view returns (AggregatedTrade[], AggregatedOrder[])",
  "function getPositionsForPairIndexes(address userAddress, uint256 startPairIndex, uint256 endPairIndex, uint256 maxTradesPerPair) view returns (AggregatedTrade[], AggregatedOrder[])",
] as const;

/** Of the pairs, what trading takes: a page loads no more. */
export const PAIR_NAMES_ABI = [
  "function getPairData(uint256 _pairIndex) view returns (string from, string to, uint256 numTiers, uint256[] tierThresholds, uint256[] timer)",
  "function pairsCount() view returns (uint256)",
] as const;

export const PAIR_STORAGE_ABI = [
  ...PAIR_NAMES_ABI,
  "function getPosType(address trader, uint256 pairIndex, uint256 index) view returns (bool)",
  "function pairMaxLeverage(uint256 _pairIndex, bool _isPnl) view returns (uint256)",
  "function pairMinLevPosUSDC(uint256 _pairIndex) view returns (uint256)",
  "function pairMinLeverage(uint256 _pairIndex, bool _isPnl) view returns (uint256)",
] as const;

/** Of USDC, what trading takes: a page loads no more. */
export const USDC_ALLOWANCE_ABI = [
  "function allowance(address owner, address spender) view returns (uint256)",
  "function approve(address spender, uint256 value) returns (bool)",
  "function balanceOf(address account) view returns (uint256)",
] as const;

export const USDC_ABI = [
  "event Approval(address indexed owner, address indexed spender, uint256 value)",
  "event Transfer(address indexed from, address indexed to, uint256 value)",
  ...USDC_ALLOWANCE_ABI,
  "function decimals() view returns (uint8)",
  "function name() view returns (string)",
  "function symbol() view returns (string)",
  "function transfer(address to, uint256 value) returns (bool)",
  "function transferFrom(address from, address to, uint256 value) returns (bool)",
] as const;
