/**
 * Tokens that venuetwo takes and pays, and the contract that takes them (sheet section 9.4). Amounts on chain are in the
 * token's smallest unit: the same token has 18 decimals on one chain and 6 on others.
 */
import type { ChainLog } from "../../../engine/chain.js";
import type { DepositRoute, Token } from "../../../engine/venue-money.js";
import { addressTopic, isEvent, uintWord } from "../../shared/sign/contract-log.js";
import { fromHex } from "../../shared/sign/eip712.js";
import { depositCalldata } from "../sign/sign-wallet.js";

/** As an operator writes one. */
export interface VenuetwoRouteOptions extends Token {
  /** Contract that takes the token from the wallet. */
  readonly vault: string;
  /** Smallest unit. */
  readonly minimum: bigint;
}

/** Of interface spec section 8. The minimum is our own: what the venue takes is not stated, apps of others ask for 5. */
export const DEFAULT_ROUTES: readonly VenuetwoRouteOptions[] = [
  {
    chainId: 56,
    symbol: "USDT",
    address: "0x55d398326f99059ff775485246999027b3197955",
    decimals: 18,
    resetsAllowance: false,
    vault: "0x128463a60784c4d3f46c23af3f65ed859ba87974",
    minimum: 10n ** 18n,
  },
];

/** Interface spec section 8. */
const DEFAULT_BROKER = 1000;
const DEPOSIT_TOPIC = "0x18081cde2fa64894914e1080b98cca17bb6d1acf633e57f6e26ebdb945ad830b";
/** Words of the event's data: whether it was the native coin, the amount, the broker. */
const [IS_NATIVE, AMOUNT] = [0, 1];

export function depositRoute({ vault: contract, minimum, ...rest }: VenuetwoRouteOptions): DepositRoute {
  const token: Token = { ...rest, address: rest.address.toLowerCase() };
  const vault = contract.toLowerCase();
  return {
    token,
    spender: vault,
    minimum,
    call: (amount, broker) => ({
      to: vault,
      data: fromHex(depositCalldata(token.address, amount, BigInt(broker ?? DEFAULT_BROKER))),
    }),
    taken: (logs, account) => takenOf(logs, vault, token.address, account),
  };
}

/** The event has what the vault received, which is less than was sent where a token keeps something for itself. */
function takenOf(logs: readonly ChainLog[], vault: string, token: string, account: string): bigint | null {
  const topics = [DEPOSIT_TOPIC, addressTopic(account), addressTopic(token)];
  let taken: bigint | null = null;
  for (const log of logs) {
    if (!isEvent(log, vault, topics) || uintWord(log.data, IS_NATIVE) !== 0n) continue;
    taken = (taken ?? 0n) + (uintWord(log.data, AMOUNT) ?? 0n);
  }
  return taken;
}
