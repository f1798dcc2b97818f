/**
 * How USDC gets to venueone (sheet section 10.1): the wallet sends it to the venue's bridge, and the venue credits who
 * sent it. A newer way is said to take the bridge's place; whatever does is another DepositRoute, and nothing but
 * `createMoneyRails` knows which one it is.
 */
import type { ChainLog } from "../../../engine/chain.js";
import type { DepositRoute, Token } from "../../../engine/venue-money.js";
import { addressTopic, isEvent, uintWord } from "../../shared/sign/contract-log.js";
import { encodeCall, fromHex } from "../../shared/sign/eip712.js";

/** As an operator writes one. */
export interface VenueoneRouteOptions extends Token {
  /** To which the token is sent. */
  readonly bridge: string;
  /** Smallest unit. Less is lost: the bridge has it, and the venue credits nobody. */
  readonly minimum: bigint;
}

const MINIMUM = 5_000_000n;
const USDC = { symbol: "USDC", decimals: 6, resetsAllowance: false, minimum: MINIMUM };

/** Native USDC of chain 42161, not the bridged one; of the test network a token of its own. */
export const DEFAULT_ROUTES: Readonly<Record<"main" | "test", VenueoneRouteOptions>> = {
  main: {
    ...USDC,
    chainId: 42161,
    address: "0xaf88d065e77c8cc2239327c5edb3a432268e5831",
    bridge: "0x2df1c51e09aecf9cacb7bc98cb1742757f163df7",
  },
  test: {
    ...USDC,
    chainId: 421614,
    address: "0x1baabb04529d43a73232b713c0fe471f7c7334d5",
    bridge: "0x08cfc1b6b2dcf36a1480b99353a354aa8ac56f89",
  },
};

const TRANSFER = "0xa9059cbb";
const TRANSFER_TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

export function bridgeRoute({ bridge: contract, minimum, ...rest }: VenueoneRouteOptions): DepositRoute {
  const token: Token = { ...rest, address: rest.address.toLowerCase() };
  const bridge = contract.toLowerCase();
  return {
    token,
    spender: null,
    minimum,
    call: (amount) => ({
      to: token.address,
      data: fromHex(encodeCall(TRANSFER, [{ address: bridge }, { uint: amount }])),
    }),
    taken: (logs, account) => sentOf(logs, token.address, account, bridge),
  };
}

function sentOf(logs: readonly ChainLog[], token: string, account: string, bridge: string): bigint | null {
  const topics = [TRANSFER_TOPIC, addressTopic(account), addressTopic(bridge)];
  let sent: bigint | null = null;
  for (const log of logs) if (isEvent(log, token, topics)) sent = (sent ?? 0n) + (uintWord(log.data, 0) ?? 0n);
  return sent;
}
