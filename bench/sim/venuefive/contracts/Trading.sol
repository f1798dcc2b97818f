// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {Governed} from "./Governed.sol";
import {PairInfos} from "./PairInfos.sol";
import {PairStorage} from "./PairStorage.sol";
import {PriceAggregator} from "./PriceAggregator.sol";
import {PendingAction, TradingStorage} from "./TradingStorage.sol";
import {
    LimitOrder,
    OpenLimitOrder,
    OpenLimitOrderType,
    Parts,
    PendingMarketOrder,
    PRECISION,
    PriceOrderType,
    PriceSourcing,
    Slot,
    Trade,
    TradeInfo,
    UpdateType,
    notional
} from "./Types.sol";

/// What traders and the keeper call. Checks are in the order of the fact sheet, section 5, with its texts.
contract Trading is Governed {
    uint256 public constant _MAX_SLIPPAGE = 80 * PRECISION;
    /// Of the collateral, that a stop loss may lose.
    uint256 private constant MAX_SL_P = 80;

    TradingStorage public immutable storageT;
    PairInfos public immutable pairInfos;
    PairStorage private immutable pairStorage;
    PriceAggregator private immutable aggregator;

    uint256 public limitOrdersTimelock = 2;
    /// Receives the execution fees.
    address public operator;
    bool public paused;
    mapping(address => bool) public isOperator;
    mapping(address => address) public delegations;
    /// For whom a delegate acts; zero: the caller acts for itself.
    address private actsFor;

    event LimitOrderInitiated(address indexed trader, uint256 pairIndex, uint256 orderId, uint256 timestamp);
    event MarginUpdated(
        address indexed trader,
        uint256 pairIndex,
        uint256 index,
        UpdateType _type,
        Trade newTrade,
        uint256 marginFees,
        uint256 lossProtectionTier,
        uint256 timestamp
    );
    event MarketOrderInitiated(
        address indexed trader,
        uint256 pairIndex,
        bool open,
        uint256 orderId,
        uint256 timestamp,
        bool isBuy,
        bool isPnl,
        uint256 initialPosToken,
        uint256 leverage
    );
    event OpenLimitCanceled(
        address indexed trader, uint256 pairIndex, uint256 index, uint256 timestamp, uint256 collateral
    );
    event OpenLimitPlaced(
        address indexed trader,
        uint256 pairIndex,
        uint256 index,
        bool isBuy,
        uint256 openPrice,
        uint256 executionFee,
        OpenLimitOrderType orderType,
        uint256 slippageP,
        uint256 collateral,
        uint256 leverage
    );
    event OpenLimitUpdated(
        address indexed trader,
        uint256 pairIndex,
        uint256 index,
        uint256 newPrice,
        uint256 newTp,
        uint256 newSl,
        uint256 timestamp
    );
    event SlUpdateInitiated(
        address indexed trader, uint256 pairIndex, uint256 index, uint256 newSl, uint256 orderId, uint256 timestamp
    );
    event SlUpdated(address indexed trader, uint256 pairIndex, uint256 index, uint256 newSl, uint256 timestamp);
    event TpUpdated(address indexed trader, uint256 pairIndex, uint256 index, uint256 newTp, uint256 timestamp);

    modifier whenNotPaused() {
        require(!paused, "Pausable: paused");
        _;
    }

    modifier onlyOperator() {
        require(isOperator[msg.sender], "ONLY_OPERATOR");
        _;
    }

    constructor(Parts memory parts) {
        storageT = TradingStorage(parts.tradingStorage);
        pairInfos = PairInfos(parts.pairInfos);
        pairStorage = PairStorage(parts.pairStorage);
        aggregator = PriceAggregator(parts.priceAggregator);
        operator = parts.keeper;
        isOperator[parts.keeper] = true;
    }

    // Levers.

    function updateOperator(address _operator, bool _isOperator) external onlyGov {
        isOperator[_operator] = _isOperator;
    }

    function setOperator(address receiver) external onlyGov {
        operator = receiver;
    }

    function setPaused(bool isPaused) external onlyGov {
        paused = isPaused;
    }

    function setLimitOrdersTimelock(uint256 blocks) external onlyGov {
        limitOrdersTimelock = blocks;
    }

    // Delegates.

    function setDelegate(address delegate) external {
        require(tx.origin == msg.sender, "NO_CONTRACT");
        delegations[msg.sender] = delegate;
    }

    function removeDelegate() external {
        delegations[msg.sender] = address(0);
    }

    /// Refuses with the text of what it called.
    function delegatedAction(address trader, bytes calldata call_data) external payable returns (bytes memory) {
        require(delegations[trader] == msg.sender, "DELEGATE_NOT_APPROVED");
        actsFor = trader;
        (bool ok, bytes memory answer) = address(this).delegatecall(call_data);
        if (!ok) {
            assembly {
                revert(add(answer, 32), mload(answer))
            }
        }
        actsFor = address(0);
        return answer;
    }

    // Market orders.

    function openTrade(Trade calldata t, OpenLimitOrderType _type, uint256 _slippageP)
        external
        payable
        whenNotPaused
        returns (uint256 orderId)
    {
        address trader = sender();
        checkOpen(trader, t, _slippageP);
        bool isPnl = _type == OpenLimitOrderType.MARKET_PNL;
        require(isWithinLeverage(t.pairIndex, t.leverage, isPnl), "LEVERAGE_INCORRECT");
        require(!isPnl || pairStorage.isPnlOrderTypeAllowed(t.pairIndex), "PNL_ORDER_NOT_ALLOWED");
        storageT.transferUSDC(trader, address(storageT), t.positionSizeUSDC);
        if (isPnl || _type == OpenLimitOrderType.MARKET) orderId = queueOpen(trader, t, isPnl, _slippageP);
        else placeLimitOrder(trader, t, _type, _slippageP);
        payOperator();
    }

    function closeTradeMarket(uint256 _pairIndex, uint256 _index, uint256 _amount)
        external
        payable
        whenNotPaused
        returns (uint256 orderId)
    {
        payOperator();
        address trader = sender();
        Trade memory t = storageT.openTrades(trader, _pairIndex, _index);
        require(_amount <= t.initialPosToken, "INV_AMOUNT");
        require(storageT.pendingOrderIdsCount(trader) < storageT.maxPendingMarketOrders(), "MAX_PENDING_ORDERS");
        require(!storageT.openTradesInfo(trader, _pairIndex, _index).beingMarketClosed, "ALREADY_BEING_CLOSED");
        require(t.leverage > 0, "NO_TRADE");
        uint256 threshold = pairStorage.openCloseThreshold(_pairIndex, notional(_amount, t.leverage));
        require(block.timestamp - t.timestamp >= threshold, "EARLY_CLOSE");
        bool isPnl = pairStorage.getPosType(trader, _pairIndex, _index);
        orderId =
            aggregator.getPrice(_pairIndex, isPnl ? PriceOrderType.MARKET_CLOSE_PNL : PriceOrderType.MARKET_CLOSE);
        Trade memory asked = Trade(trader, _pairIndex, _index, _amount, 0, 0, false, 0, 0, 0, 0);
        storageT.storePendingMarketOrder(PendingMarketOrder(asked, 0, 0, 0), orderId, false);
        emit MarketOrderInitiated(
            trader, _pairIndex, false, orderId, block.timestamp, t.buy, isPnl, t.initialPosToken, t.leverage
        );
    }

    function executeMarketOrders(uint256[] calldata orderId, bytes[] calldata priceUpdateData, PriceSourcing _priceSourcing)
        external
        payable
        onlyOperator
    {
        (priceUpdateData, _priceSourcing);
        for (uint256 i = 0; i < orderId.length; i++) aggregator.fulfill(orderId[i], true, 0);
    }

    function executeMarketOrders(
        uint256[] calldata orderId,
        bytes[] calldata priceUpdateData,
        PriceSourcing _priceSourcing,
        int256 spreadP
    ) external payable onlyOperator {
        (priceUpdateData, _priceSourcing);
        for (uint256 i = 0; i < orderId.length; i++) aggregator.fulfill(orderId[i], true, spreadP);
    }

    function cancelPendingMarketOrder(uint256 _id) external onlyOperator {
        storageT.forceUnregisterPendingMarketOrder(_id);
    }

    // Limit orders.

    function updateOpenLimitOrder(
        uint256 _pairIndex,
        uint256 _index,
        uint256 _price,
        uint256 _slippageP,
        uint256 _tp,
        uint256 _sl
    ) external whenNotPaused {
        OpenLimitOrder memory o = storageT.getOpenLimitOrder(sender(), _pairIndex, _index);
        require(block.number - o.block >= limitOrdersTimelock, "LIMIT_TIMELOCK");
        require(_tp == 0 || (o.buy ? _price < _tp : _price > _tp), "WRONG_TP");
        require(_sl == 0 || (o.buy ? _price > _sl : _price < _sl), "WRONG_SL");
        require(_slippageP < _MAX_SLIPPAGE, "INVALID_SLIPPAGE");
        (o.price, o.slippageP, o.tp, o.sl) = (_price, _slippageP, _tp, _sl);
        storageT.updateOpenLimitOrder(o);
        emit OpenLimitUpdated(o.trader, _pairIndex, _index, _price, _tp, _sl, block.timestamp);
    }

    function cancelOpenLimitOrder(uint256 _pairIndex, uint256 _index) external whenNotPaused {
        OpenLimitOrder memory o = storageT.getOpenLimitOrder(sender(), _pairIndex, _index);
        require(block.number - o.block >= limitOrdersTimelock, "LIMIT_TIMELOCK");
        storageT.transferUSDC(address(storageT), o.trader, o.positionSize + o.executionFee);
        storageT.unregisterOpenLimitOrder(o.trader, _pairIndex, _index);
        emit OpenLimitCanceled(o.trader, _pairIndex, _index, block.timestamp, o.positionSize);
    }

    function executeLimitOrder(
        LimitOrder _orderType,
        address _trader,
        uint256 _pairIndex,
        uint256 _index,
        bytes[] calldata priceUpdateData,
        PriceSourcing _priceSourcing
    ) external payable whenNotPaused onlyOperator {
        (priceUpdateData, _priceSourcing);
        trigger(_orderType, Slot(_trader, _pairIndex, _index), 0);
    }

    function executeLimitOrder(
        LimitOrder _orderType,
        address _trader,
        uint256 _pairIndex,
        uint256 _index,
        bytes[] calldata priceUpdateData,
        PriceSourcing _priceSourcing,
        int256 spreadP
    ) external payable whenNotPaused onlyOperator {
        (priceUpdateData, _priceSourcing);
        trigger(_orderType, Slot(_trader, _pairIndex, _index), spreadP);
    }

    // Changes of a position.

    function updateMargin(
        uint256 _pairIndex,
        uint256 _index,
        UpdateType _type,
        uint256 _amount,
        bytes[] calldata priceUpdateData,
        PriceSourcing _priceSourcing
    ) external payable whenNotPaused returns (uint256 orderId) {
        (_priceSourcing);
        return changeMargin(Slot(sender(), _pairIndex, _index), _type, _amount, priceUpdateData.length > 0);
    }

    function updateMargin(
        uint256 _pairIndex,
        uint256 _index,
        UpdateType _type,
        uint256 _amount,
        bytes[] calldata priceUpdateData
    ) external payable whenNotPaused returns (uint256 orderId) {
        return changeMargin(Slot(sender(), _pairIndex, _index), _type, _amount, priceUpdateData.length > 0);
    }

    function updateTpAndSl(
        uint256 _pairIndex,
        uint256 _index,
        uint256 _newSl,
        uint256 _newTP,
        bytes[] calldata priceUpdateData,
        PriceSourcing _priceSourcing
    ) external payable whenNotPaused {
        (_priceSourcing);
        changeTp(_pairIndex, _index, _newTP);
        if (priceUpdateData.length > 0) changeSl(_pairIndex, _index, _newSl);
    }

    function updateTpAndSl(
        uint256 _pairIndex,
        uint256 _index,
        uint256 _newSl,
        uint256 _newTP,
        bytes[] calldata priceUpdateData
    ) external payable whenNotPaused {
        changeTp(_pairIndex, _index, _newTP);
        if (priceUpdateData.length > 0) changeSl(_pairIndex, _index, _newSl);
    }

    function updateSl(
        uint256 _pairIndex,
        uint256 _index,
        uint256 _newSl,
        bytes[] calldata priceUpdateData,
        PriceSourcing _priceSourcing
    ) external payable whenNotPaused {
        (_priceSourcing);
        if (priceUpdateData.length > 0) changeSl(_pairIndex, _index, _newSl);
    }

    function updateSl(uint256 _pairIndex, uint256 _index, uint256 _newSl, bytes[] calldata priceUpdateData)
        external
        payable
        whenNotPaused
    {
        if (priceUpdateData.length > 0) changeSl(_pairIndex, _index, _newSl);
    }

    // How.

    function sender() private view returns (address) {
        return actsFor == address(0) ? msg.sender : actsFor;
    }

    function payOperator() private {
        (bool ok,) = payable(operator).call{value: msg.value}("");
        require(ok, "EXECUTION_FEE_NOT_SENT");
    }

    function isWithinLeverage(uint256 pairIndex, uint256 leverage, bool isPnl) private view returns (bool) {
        return leverage > 0 && leverage >= pairStorage.pairMinLeverage(pairIndex, isPnl)
            && leverage <= pairStorage.pairMaxLeverage(pairIndex, isPnl);
    }

    function checkOpen(address trader, Trade calldata t, uint256 slippageP) private view {
        require(storageT.pendingOrderIdsCount(trader) < storageT.maxPendingMarketOrders(), "MAX_PENDING_ORDERS");
        uint256 taken = storageT.openTradesCount(trader, t.pairIndex)
            + storageT.pendingMarketOpenCount(trader, t.pairIndex) + storageT.openLimitOrdersCount(trader, t.pairIndex);
        require(taken < storageT.maxTradesPerPair(), "MAX_TRADES_PER_PAIR");
        uint256 leveraged = notional(t.positionSizeUSDC, t.leverage);
        require(leveraged >= pairStorage.pairMinLevPosUSDC(t.pairIndex), "BELOW_MIN_POS");
        require(t.tp == 0 || (t.buy ? t.tp > t.openPrice : t.tp < t.openPrice), "WRONG_TP");
        require(t.sl == 0 || (t.buy ? t.sl < t.openPrice : t.sl > t.openPrice), "WRONG_SL");
        require(slippageP < _MAX_SLIPPAGE, "INVALID_SLIPPAGE");
    }

    function queueOpen(address trader, Trade calldata t, bool isPnl, uint256 slippageP) private returns (uint256 orderId) {
        orderId = aggregator.getPrice(t.pairIndex, isPnl ? PriceOrderType.MARKET_OPEN_PNL : PriceOrderType.MARKET_OPEN);
        Trade memory asked = Trade(trader, t.pairIndex, 0, 0, t.positionSizeUSDC, 0, t.buy, t.leverage, t.tp, t.sl, 0);
        storageT.storePendingMarketOrder(PendingMarketOrder(asked, 0, t.openPrice, slippageP), orderId, true);
        emit MarketOrderInitiated(
            trader, t.pairIndex, true, orderId, block.timestamp, t.buy, isPnl, t.positionSizeUSDC, t.leverage
        );
    }

    function placeLimitOrder(address trader, Trade calldata t, OpenLimitOrderType kind, uint256 slippageP) private {
        uint256 index = storageT.firstEmptyOpenLimitIndex(trader, t.pairIndex);
        OpenLimitOrder memory o;
        (o.trader, o.pairIndex, o.index, o.positionSize) = (trader, t.pairIndex, index, t.positionSizeUSDC);
        (o.buy, o.leverage, o.tp, o.sl) = (t.buy, t.leverage, t.tp, t.sl);
        (o.price, o.slippageP, o.block) = (t.openPrice, slippageP, block.number);
        storageT.storeOpenLimitOrder(o, kind);
        emit OpenLimitPlaced(
            trader, t.pairIndex, index, t.buy, t.openPrice, 0, kind, slippageP, t.positionSizeUSDC, t.leverage
        );
    }

    function trigger(LimitOrder kind, Slot memory slot, int256 spreadP) private {
        PriceOrderType orderType = PriceOrderType.LIMIT_OPEN;
        if (kind == LimitOrder.OPEN) {
            OpenLimitOrder memory o = storageT.getOpenLimitOrder(slot.trader, slot.pairIndex, slot.index);
            require(isWithinLeverage(o.pairIndex, o.leverage, false), "LEVERAGE_INCORRECT");
        } else {
            checkTrigger(kind, storageT.openTrades(slot.trader, slot.pairIndex, slot.index));
            orderType = pairStorage.getPosType(slot.trader, slot.pairIndex, slot.index)
                ? PriceOrderType.LIMIT_CLOSE_PNL
                : PriceOrderType.LIMIT_CLOSE;
        }
        uint256 orderId = aggregator.getPrice(slot.pairIndex, orderType);
        storageT.storePendingAction(orderId, PendingAction(slot, uint8(kind), 0, 0));
        emit LimitOrderInitiated(slot.trader, slot.pairIndex, orderId, block.timestamp);
        aggregator.fulfill(orderId, true, spreadP);
    }

    function checkTrigger(LimitOrder kind, Trade memory t) private view {
        require(t.leverage > 0, "NO_TRADE");
        require(kind != LimitOrder.SL || t.sl > 0, "NO_SL");
        if (kind == LimitOrder.LIQ) {
            uint256 liquidation = pairInfos.getTradeLiquidationPrice(
                t.trader, t.pairIndex, t.index, t.openPrice, t.buy, t.initialPosToken, t.leverage
            );
            require(t.sl == 0 || (t.buy ? liquidation > t.sl : liquidation < t.sl), "HAS_SL");
        } else if (kind == LimitOrder.TP) {
            uint256 threshold =
                pairStorage.openCloseThreshold(t.pairIndex, notional(t.initialPosToken, t.leverage));
            require(block.timestamp - t.timestamp >= threshold, "EARLY_CLOSE");
        }
    }

    function changeTp(uint256 pairIndex, uint256 index, uint256 newTp) private {
        address trader = sender();
        require(storageT.openTrades(trader, pairIndex, index).leverage > 0, "NO_TRADE");
        uint256 last = storageT.openTradesInfo(trader, pairIndex, index).tpLastUpdated;
        require(block.number - last >= limitOrdersTimelock, "LIMIT_TIMELOCK");
        require(newTp < uint256(type(int256).max), "INCORRECT_TP");
        uint256 corrected = storageT.updateTp(trader, pairIndex, index, newTp);
        emit TpUpdated(trader, pairIndex, index, corrected, block.timestamp);
    }

    function changeSl(uint256 pairIndex, uint256 index, uint256 newSl) private {
        address trader = sender();
        Trade memory t = storageT.openTrades(trader, pairIndex, index);
        require(t.leverage > 0, "NO_TRADE");
        require(newSl < uint256(type(int256).max), "INCORRECT_SL");
        uint256 most = (((t.openPrice * MAX_SL_P) / 100) * PRECISION) / t.leverage;
        require(newSl == 0 || (t.buy ? newSl + most >= t.openPrice : newSl <= t.openPrice + most), "SL_TOO_BIG");
        uint256 last = storageT.openTradesInfo(trader, pairIndex, index).slLastUpdated;
        require(block.number - last >= limitOrdersTimelock, "LIMIT_TIMELOCK");
        if (newSl == 0 || !pairStorage.guaranteedSlEnabled(pairIndex)) {
            storageT.updateSl(trader, pairIndex, index, newSl);
            emit SlUpdated(trader, pairIndex, index, newSl, block.timestamp);
            return;
        }
        uint256 orderId = aggregator.getPrice(pairIndex, PriceOrderType.UPDATE_SL);
        storageT.storePendingAction(orderId, PendingAction(Slot(trader, pairIndex, index), 0, newSl, 0));
        emit SlUpdateInitiated(trader, pairIndex, index, newSl, orderId, block.timestamp);
        aggregator.fulfill{value: msg.value}(orderId, true, 0);
    }

    function changeMargin(Slot memory slot, UpdateType kind, uint256 amount, bool hasPrice)
        private
        returns (uint256 orderId)
    {
        Trade memory t = storageT.openTrades(slot.trader, slot.pairIndex, slot.index);
        TradeInfo memory info = storageT.openTradesInfo(slot.trader, slot.pairIndex, slot.index);
        require(!info.beingMarketClosed, "ALREADY_BEING_CLOSED");
        require(t.leverage > 0, "NO_TRADE");
        uint256 fees = pairInfos.getTradeRolloverFee(
            t.trader, t.pairIndex, t.index, t.buy, t.initialPosToken, t.leverage
        );
        orderId = aggregator.getPrice(t.pairIndex, PriceOrderType.UPDATE_MARGIN);
        storageT.storePendingAction(orderId, PendingAction(slot, uint8(kind), amount, fees));
        bool isPnl = pairStorage.getPosType(t.trader, t.pairIndex, t.index);
        require(!isPnl || kind == UpdateType.DEPOSIT, "NOT_ALLOWED");
        if (kind == UpdateType.DEPOSIT) t.initialPosToken = t.initialPosToken + amount - fees;
        else t.initialPosToken = t.initialPosToken - amount - fees;
        t.leverage = (info.openInterestUSDC * PRECISION) / t.initialPosToken;
        require(isWithinLeverage(t.pairIndex, t.leverage, isPnl), "LEVERAGE_INCORRECT");
        emit MarginUpdated(
            t.trader, t.pairIndex, t.index, kind, t, fees, info.lossProtection, block.timestamp
        );
        storageT.updateTrade(t);
        aggregator.fulfill{value: msg.value}(orderId, hasPrice, 0);
        changeTp(t.pairIndex, t.index, t.tp);
    }
}
