// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {TokenMoves} from "./TokenMoves.sol";

/// What a venue has on a chain whose deposits are plain transfers of the token to this address (its fact sheet, 10), so
/// there is no function for them. A withdrawal is requested and then finalized, with the sheet's events; the operator
/// stands for the venue's validators, whose signatures and dispute period are left out.
contract Bridge {
    using TokenMoves for address;

    struct Withdrawal {
        address user;
        address destination;
        uint64 usd;
        uint64 nonce;
    }

    address public immutable token;
    address public immutable operator;
    mapping(bytes32 => Withdrawal) public requested;
    mapping(bytes32 => bool) public isFinalized;

    event RequestedWithdrawal(
        address indexed user,
        address destination,
        uint64 usd,
        uint64 nonce,
        bytes32 message,
        uint64 requestedTime
    );
    event FinalizedWithdrawal(address indexed user, address destination, uint64 usd, uint64 nonce, bytes32 message);

    error AlreadyRequested(bytes32 message);
    error NotRequested(bytes32 message);
    error AlreadyFinalized(bytes32 message);

    constructor(address operator_, address token_) {
        operator = operator_;
        token = token_;
    }

    function batchedRequestWithdrawals(Withdrawal[] calldata withdrawals) external {
        require(msg.sender == operator, "only the operator requests");
        for (uint256 index = 0; index < withdrawals.length; index++) {
            Withdrawal calldata one = withdrawals[index];
            bytes32 message = messageOf(one.user, one.destination, one.usd, one.nonce);
            if (requested[message].user != address(0)) revert AlreadyRequested(message);
            requested[message] = one;
            emit RequestedWithdrawal(
                one.user,
                one.destination,
                one.usd,
                one.nonce,
                message,
                uint64(block.timestamp)
            );
        }
    }

    /// Pays once for each message.
    function batchedFinalizeWithdrawals(bytes32[] calldata messages) external {
        require(msg.sender == operator, "only the operator finalizes");
        for (uint256 index = 0; index < messages.length; index++) {
            bytes32 message = messages[index];
            Withdrawal memory one = requested[message];
            if (one.user == address(0)) revert NotRequested(message);
            if (isFinalized[message]) revert AlreadyFinalized(message);
            isFinalized[message] = true;
            token.send(one.destination, one.usd);
            emit FinalizedWithdrawal(one.user, one.destination, one.usd, one.nonce, message);
        }
    }

    function messageOf(address user, address destination, uint64 usd, uint64 nonce) public pure returns (bytes32) {
        return keccak256(abi.encode("requestWithdrawal", user, destination, usd, nonce));
    }
}
