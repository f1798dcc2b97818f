// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

/// Whoever deploys a contract turns its levers.
abstract contract Governed {
    address public immutable gov = msg.sender;

    modifier onlyGov() {
        require(msg.sender == gov, "ONLY_GOV");
        _;
    }
}
