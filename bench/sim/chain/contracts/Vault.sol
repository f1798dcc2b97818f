// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {TokenMoves} from "./TokenMoves.sol";

/// What a venue with a deposit contract has on a chain (its fact sheet, 9.4): deposits of listed tokens and of the native
/// coin, with the sheet's functions, event and errors. Payouts are the operator's; the venue's own way is not known.
contract Vault {
    using TokenMoves for address;

    /// The first 20 bytes of keccak256("NATIVE").
    address public constant NATIVE = address(bytes20(keccak256("NATIVE")));

    address public immutable operator;
    mapping(address => bool) public isListed;
    mapping(uint256 => bool) public isPaid;

    event Deposit(address indexed account, address indexed currency, bool isNative, uint256 amount, uint256 broker);
    event Withdraw(uint256 id, address to, address currency, uint256 amount, uint256 fee);

    error ZeroAmount();
    error CurrencyNotSupport(address currency);
    error AlreadyPaid(uint256 id);

    constructor(address operator_, address[] memory currencies) {
        operator = operator_;
        for (uint256 index = 0; index < currencies.length; index++) isListed[currencies[index]] = true;
    }

    function deposit(address currency, uint256 amount, uint256 broker) external {
        if (amount == 0) revert ZeroAmount();
        if (!isListed[currency]) revert CurrencyNotSupport(currency);
        // What arrived is what counts: a token may keep a part of what it moves.
        uint256 before = currency.held();
        currency.take(msg.sender, amount);
        emit Deposit(msg.sender, currency, false, currency.held() - before, broker);
    }

    function depositNative(uint256 broker) external payable {
        require(msg.value > 0, "msg.value must be greater than 0");
        emit Deposit(msg.sender, NATIVE, true, msg.value, broker);
    }

    /// Pays once for each id.
    function withdraw(uint256 id, address to, address currency, uint256 amount, uint256 fee) external {
        require(msg.sender == operator, "only the operator pays out");
        if (isPaid[id]) revert AlreadyPaid(id);
        isPaid[id] = true;
        currency.send(to, amount);
        emit Withdraw(id, to, currency, amount, fee);
    }
}
