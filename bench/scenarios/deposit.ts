/**
 * What a deposit takes before it is sent: the checks of a dry run, and the way from the request to the signed transaction
 * in the store, with both parties as they run (the co-signer a process of its own) and a local chain. The peer prepares
 * and signs the same transaction with viem and one key in memory, over the same endpoint: nonce, gas, fees, signature. It
 * checks no balance, and makes nothing durable.
 */
import { createWalletClient, defineChain, encodeFunctionData, type Hex, http, parseAbi } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { createSystemClock } from "../../engine/domain/clock.js";
import { Owners } from "../../engine/domain/owner.js";
import { systemRandom } from "../../engine/domain/random.js";
import { createNonceReservations } from "../../engine/orders/durable/nonce-reservations.js";
import type { DepositAsk } from "../../engine/transfers/openings.js";
import { NO_TRANSFER_RECORD } from "../../engine/transfers/transfer-record.js";
import type { TransferRow } from "../../engine/transfers/transfer-row.js";
import { openCustody } from "../../gateway/app/custody.js";
import { createLogger } from "../../gateway/app/log.js";
import { type Money, type MoneyParts, openMoney } from "../../gateway/app/transfers.js";
import { makeThrowawayCustody } from "../../gateway/demo/throwaway-custody.js";
import { latencyText, median } from "../lib/stats.js";
import type { BenchRow, Scenario } from "../lib/types.js";
import { DEPLOYER_KEY, WORLD, worldToken } from "../sim/chain/world-plan.js";
import { type ChainWorld, startChainWorld } from "../sim/chain/world.js";
import { DEPOSITS } from "../venues/table.js";

const CHAIN_ID = 42161;
const PEER = "viem, one key in memory";
const UNIT = 10n ** 6n;
const AMOUNT = 5n * UNIT;
const GWEI = 1_000_000_000n;
const TRANSFER = parseAbi(["function transfer(address to, uint256 amount) returns (bool)"]);

export const deposit: Scenario = {
  name: "deposit",
  title: "Preparing a deposit",
  async run(context) {
    const runs = context.smoke ? 3 : 60;
    const world = await startChainWorld({ chainIds: [CHAIN_ID] });
    const parts = await makeThrowawayCustody();
    const clock = createSystemClock();
    const logger = createLogger("silent");
    const custody = await openCustody({
      ...{ config: parts.config, store: parts.store, ring: parts.ring, owners: new Owners(), instance: null },
      ...{ audit: { append: async () => {}, auditWrites: () => [] }, clock, random: systemRandom },
      ...{ logger, logLevel: "silent" },
    });
    try {
      const { walletId, address } = await custody.provider.create("bench", null);
      await world.mint({ chainId: CHAIN_ID, token: "USDC", to: address as Hex, amount: "100000" });
      await world.setCoins(CHAIN_ID, address as Hex, "10");
      const nonces = createNonceReservations(parts.store);
      const room = DEPOSITS.openRoom({ clock, random: systemRandom, logger, nonces }, AMOUNT);
      const { provider } = custody;
      const money = await opened(
        { provider, store: parts.store, rooms: [room], clock, random: systemRandom, logger },
        world,
      );
      try {
        const ask: DepositAsk = {
          ...{ transferId: null, ownerId: null, walletId, account: address.toLowerCase(), venue: DEPOSITS.venue },
          ...{ requestId: "bench", alongside: () => [], chainId: CHAIN_ID, network: String(CHAIN_ID) },
          ...{ symbol: "USDC", amount: AMOUNT, broker: null },
        };
        return { rows: await rowsOf(money, world, ask, runs), profile: [] };
      } finally {
        await money.stop();
        await room.stop();
      }
    } finally {
      await custody.stop();
      await parts.remove();
      await world.stop();
    }
  },
};

function opened(
  parts: Pick<MoneyParts, "provider" | "store" | "rooms" | "clock" | "random" | "logger">,
  world: ChainWorld,
): Promise<Money> {
  const gasLimits = { maxFeePerGas: 1_000n * GWEI, maxPriorityFeePerGas: 100n * GWEI };
  const chain = { chainId: CHAIN_ID, rpcUrls: [world.chain(CHAIN_ID).rpcUrl], confirmations: 1, gasLimits } as const;
  return openMoney({
    config: { chains: [chain], explorerUrls: new Map(), depositWaitMs: 20_000, reconcileIntervalMs: 0 },
    ...{ ...parts, record: NO_TRANSFER_RECORD, instance: null, parties: () => null },
    // The wallet has no key at a venue, and a deposit needs none.
    registrations: { blocks: { opened: async () => ({}) } } as unknown as MoneyParts["registrations"],
  });
}

/** Ours and the peer's by turns, so that what else the machine does falls on both. */
async function rowsOf(money: Money, world: ChainWorld, ask: DepositAsk, runs: number): Promise<BenchRow[]> {
  const peer = await peerOf(world);
  const checks: number[] = [];
  const prepared: number[] = [];
  const bare: number[] = [];
  for (let run = 0; run < runs; run++) {
    checks.push(await msOf(() => money.transfers.checkDeposit(ask)));
    prepared.push(await signedMs(money, ask));
    bare.push(await msOf(peer));
  }
  return [
    rowOf("the checks of a deposit (dry run)", checks, bare),
    rowOf("from the request to the signed transaction in the store", prepared, bare),
  ];
}

/** Until the row that has the signature is durable; the deposit itself is mined before the next one begins. */
async function signedMs({ transfers }: Money, ask: DepositAsk): Promise<number> {
  const startedMs = performance.now();
  let tookMs: number | null = null;
  const stop = transfers.listen((row: TransferRow) => {
    if (row.state === "signed") tookMs ??= performance.now() - startedMs;
  });
  try {
    const row = await transfers.deposit(ask);
    if (tookMs === null || row.state === "failed") throw new Error(`a deposit is ${row.state} and was not signed`);
    return tookMs;
  } finally {
    stop();
  }
}

/** Prepares and signs, and sends nothing: its nonce stays the same. */
async function peerOf(world: ChainWorld): Promise<() => Promise<unknown>> {
  const { rpcUrl } = world.chain(CHAIN_ID);
  const account = privateKeyToAccount(DEPLOYER_KEY);
  const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 };
  const chain = defineChain({
    ...{ id: CHAIN_ID, name: "local", nativeCurrency },
    rpcUrls: { default: { http: [rpcUrl] } },
  });
  const client = createWalletClient({ account, chain, transport: http(rpcUrl) });
  const to = worldToken(CHAIN_ID, "USDC").address;
  await world.mint({ chainId: CHAIN_ID, token: "USDC", to: account.address, amount: "100" });
  const args = [WORLD[CHAIN_ID].bridge as Hex, AMOUNT] as const;
  const data = encodeFunctionData({ abi: TRANSFER, functionName: "transfer", args });
  return async () => client.signTransaction(await client.prepareTransactionRequest({ to, data }));
}

async function msOf(run: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await run();
  return performance.now() - startedMs;
}

function rowOf(what: string, samples: readonly number[], bare: readonly number[]): BenchRow {
  const ours = median([...samples]);
  const peer = median([...bare]);
  return {
    ...{ what, unit: "ms", ours, peerName: PEER, peer, ratio: ours / peer, runCount: 1, goal: null },
    detail: `${samples.length} times each by turns, ms ${latencyText([...samples])}; viem ${latencyText([...bare])}`,
  };
}
