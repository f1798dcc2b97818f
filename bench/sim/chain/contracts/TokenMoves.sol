// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

/// Calls of tokens that may return nothing: no answer counts as success, `false` as failure.
library TokenMoves {
    error TokenCallFailed(address token);

    function send(address token, address to, uint256 value) internal {
        check(token, abi.encodeWithSignature("transfer(address,uint256)", to, value));
    }

    function take(address token, address from, uint256 value) internal {
        check(token, abi.encodeWithSignature("transferFrom(address,address,uint256)", from, address(this), value));
    }

    function held(address token) internal view returns (uint256) {
        (bool ok, bytes memory answer) = token.staticcall(abi.encodeWithSignature("balanceOf(address)", address(this)));
        if (!ok || answer.length != 32) revert TokenCallFailed(token);
        return abi.decode(answer, (uint256));
    }

    function check(address token, bytes memory data) private {
        (bool ok, bytes memory answer) = token.call(data);
        if (!ok && answer.length > 0) {
            // The token's own reason.
            assembly {
                revert(add(answer, 32), mload(answer))
            }
        }
        if (!ok || (answer.length > 0 && !abi.decode(answer, (bool)))) revert TokenCallFailed(token);
    }
}
