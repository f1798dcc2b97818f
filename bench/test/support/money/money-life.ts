/**
 * Lives of the money part as the service wires it: `openMoney` with the real rooms' rails, three endpoints for each chain,
 * and a store that outlives it. The wallets' keys are in this process: two parties and their policy have tests of their own
 * (bench/test/system/money.test.ts, money-kills).
 */
import { type Hex, hashMessage, hashTypedData, keccak256, serializeTransaction } from "viem";
import { sign } from "viem/accounts";
import type { SigningRequest } from "../../../../engine/custody/provider/wallet-provider.js";
import { createSeededRandom, type Random } from "../../../../engine/domain/random.js";
import { type Death, MortalLife } from "../../../../engine/storage/test/mortal-life.js";
import type { MemoryStore } from "../../../../engine/storage/test/memory-store.js";
import { NO_TRANSFER_RECORD } from "../../../../engine/transfers/transfer-record.js";
import type { TransferRow } from "../../../../engine/transfers/transfer-row.js";
import type { Money } from "../../../../gateway/app/transfers.js";
import { WORLD, WORLD_CHAIN_IDS, type WorldChainId } from "../../../sim/chain/world-plan.js";
import { tokenOf } from "../trading/chain-wallet.js";
import { type EndpointMood, endpointJudge } from "./endpoint-faults.js";
import { FaultyDoor, type Judge } from "./faulty-door.js";
import { CONFIRMATIONS, type MoneyWallet, type MoneyWorld } from "./money-world.js";

export const ENDPOINTS = 3;
/** Comparisons by the clock would only be more of the same reads. */
const NEVER_MS = 2_000_000_000;
const NO_LIMIT = 1_000_000_000;
const GWEI = 1_000_000_000n;

/** The product's modules, as they are loaded now: a mutant replaces one before. */
export async function loadProduct() {
  const [transfers, one, two, errors, store, nonces, stores, log] = await Promise.all([
    import("../../../../gateway/app/transfers.js"),
    import("../../../../feeds/venueone/room.js"),
    import("../../../../feeds/venuetwo/room.js"),
    import("../../../../engine/domain/errors.js"),
    import("../../../../engine/storage/test/memory-store.js"),
    import("../../../../engine/orders/durable/nonce-reservations.js"),
    import("../../../../engine/storage/state-store.js"),
    import("../../../../gateway/app/log.js"),
  ]);
  return { ...transfers, ...one, ...two, ...errors, ...store, ...nonces, ...stores, ...log };
}

export type Product = Awaited<ReturnType<typeof loadProduct>>;

/** One signature, in the order in which they were given. */
export interface Signed {
  readonly walletId: string;
  readonly request: SigningRequest;
}

/** What is outside of a life, and how it is now. */
export class Surroundings {
  readonly moods = new Map<string, EndpointMood>();
  /** Of a venue; null: as it is. */
  readonly venueJudges = new Map<string, Judge>();
  readonly struck = new Map<string, number>();
  readonly signed: Signed[] = [];
  /** What the signer answers; null: it signs. */
  signerCode: "SIGNER_UNAVAILABLE" | "APPROVAL_PENDING" | "POLICY_REFUSED" | null = null;
  /** Part of the commits that the store refuses. */
  refusedCommits = 0;
  /** Signatures that were lost with their commit. */
  lostCommits = 0;
  readonly random: Random;

  constructor(seed: number) {
    this.random = createSeededRandom(seed);
  }

  strike(name: string): void {
    this.struck.set(name, (this.struck.get(name) ?? 0) + 1);
  }

  mood(chainId: number, place: number): EndpointMood {
    return this.moods.get(`${chainId}/${place}`) ?? "fine";
  }
}

export interface LifeParts {
  readonly world: MoneyWorld;
  readonly product: Product;
  readonly store: MemoryStore;
  readonly wallets: ReadonlyMap<string, MoneyWallet>;
  readonly around: Surroundings;
  readonly heard: (row: TransferRow) => void;
}

export interface MoneyLife {
  readonly money: Money;
  readonly isDead: () => boolean;
  /** Nothing of it goes on. */
  end(): void;
}

export async function bornMoney(parts: LifeParts, death: Death | null): Promise<MoneyLife> {
  const { world, product, around, store: durable } = parts;
  const { clock } = world.time;
  const doors: FaultyDoor[] = [];
  const mortal = new MortalLife(death, () => {
    around.strike("kill");
    end();
  });
  const open = async (url: string, judge: Judge): Promise<string> => {
    const door = await FaultyDoor.open(url, world.time, judge);
    doors.push(door);
    return door.url;
  };
  const common = await roomParts(parts, mortal);
  const venueUrl = (venue: "venueone" | "venuetwo") =>
    open(world[venue].restUrl, async (request, ask) => {
      const judge = around.venueJudges.get(venue);
      return judge === undefined ? { kind: "pass" } : judge(request, ask);
    });
  const restUrls = [await venueUrl("venueone"), await venueUrl("venuetwo")] as const;
  const rooms = [
    product.createVenueoneRoom({
      ...{ ...common, restUrl: restUrls[0], limits: { restWeightPerMinute: NO_LIMIT } },
      moneyRoute: { ...tokenOf(42161, "USDC"), bridge: WORLD[42161].bridge as Hex, minimum: 5_000_000n },
    }),
    product.createVenuetwoRoom({
      ...{ ...common, restUrl: restUrls[1], limits: { weightPerMinute: NO_LIMIT } },
      moneyRoutes: WORLD_CHAIN_IDS.map((chainId) => ({
        ...{ ...tokenOf(chainId, "USDT"), vault: WORLD[chainId].vault, minimum: 1_000n },
      })),
    }),
  ];
  const chains = await Promise.all(WORLD_CHAIN_IDS.map(async (chainId) => chainConfig(parts, chainId, open)));
  const money = await product.openMoney({
    config: { chains, explorerUrls: new Map(), depositWaitMs: 20_000, reconcileIntervalMs: NEVER_MS },
    provider: {
      all: () => [],
      sign: (walletId, _origin, request) => mortal.gate(() => signedBy(parts, walletId, request)),
    },
    ...{ instance: null, parties: () => null },
    registrations: { blocks: blocksOf(parts) },
    ...{
      store: mortal.store(durable),
      record: NO_TRANSFER_RECORD,
      rooms,
      clock,
      random: around.random,
      logger: common.logger,
    },
  });
  money.transfers.listen(parts.heard);
  function end(): void {
    for (const door of doors) door.close();
    // Its timers go; what waits for a store that never answers waits for ever.
    void money?.stop();
    for (const room of rooms) void room.stop();
  }
  return { money, isDead: mortal.isDead, end };
}

async function roomParts({ world, product, around, store }: LifeParts, mortal: MortalLife) {
  const quiet = { debug: null, info() {}, warn() {}, error() {}, redactedCount: 0 };
  return {
    ...{ wsUrl: "ws://127.0.0.1:1", isMainnet: true, symbols: ["BTC"], clock: world.time.clock },
    ...{ random: around.random, logger: quiet as unknown as ReturnType<Product["createLogger"]> },
    nonces: product.createNonceReservations(mortal.store(store)),
  };
}

async function chainConfig(
  { world, around }: LifeParts,
  chainId: WorldChainId,
  open: (url: string, judge: Judge) => Promise<string>,
) {
  const url = world.chains.chain(chainId).rpcUrl;
  const rpcUrls = await Promise.all(
    Array.from({ length: ENDPOINTS }, (_, place) =>
      open(
        url,
        endpointJudge({
          mood: () => around.mood(chainId, place),
          strikes: () => around.random.next() < 0.4,
          struck: (name) => around.strike(name),
        }),
      ),
    ),
  );
  const gasLimits = { maxFeePerGas: 500n * GWEI, maxPriorityFeePerGas: 5n * GWEI };
  return { chainId, rpcUrls, confirmations: CONFIRMATIONS, gasLimits };
}

function blocksOf({ wallets }: LifeParts): Parameters<Product["openMoney"]>[0]["registrations"]["blocks"] {
  const opened = async (walletId: string) => {
    const credentials = wallets.get(walletId)?.credentials;
    return credentials === undefined ? {} : { venuetwo: credentials };
  };
  return { opened } as unknown as Parameters<Product["openMoney"]>[0]["registrations"]["blocks"];
}

/** Digests are viem's, not those of the code under test. */
async function signedBy({ wallets, around, product }: LifeParts, walletId: string, request: SigningRequest) {
  const wallet = wallets.get(walletId);
  if (wallet === undefined) throw new Error("nobody's wallet");
  if (around.signerCode !== null) {
    around.strike(`signer ${around.signerCode}`);
    throw new product.ServiceError(around.signerCode);
  }
  const digest = digestOf(request);
  const { r, s, v } = await sign({ hash: digest, privateKey: wallet.privateKey });
  around.signed.push({ walletId, request });
  return { signature: `${r}${s.slice(2)}${Number(v).toString(16)}`, digest };
}

function digestOf(request: SigningRequest): Hex {
  if (request.kind === "message") return hashMessage({ raw: request.bytes });
  if (request.kind === "typedData") return hashTypedData(typedOf(request.text));
  if (request.kind !== "transaction" || request.transaction.type !== "eip1559") throw new Error("another kind");
  const { chainId, nonce, gasLimit, to, data, value, maxFeePerGas, maxPriorityFeePerGas } = request.transaction;
  return keccak256(
    serializeTransaction({
      ...{ type: "eip1559", chainId: Number(chainId), nonce: Number(nonce), gas: gasLimit, to: to as Hex, value },
      ...{ data: `0x${Buffer.from(data).toString("hex")}`, maxFeePerGas, maxPriorityFeePerGas },
    }),
  );
}

export function typedOf(text: string): Parameters<typeof hashTypedData>[0] {
  const { types, ...rest } = JSON.parse(text) as Parameters<typeof hashTypedData>[0] & { types: object };
  const { EIP712Domain: _domain, ...own } = types as Record<string, unknown>;
  return { ...rest, types: own } as Parameters<typeof hashTypedData>[0];
}
