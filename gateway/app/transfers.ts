/**
 * Money of server wallets, wired: chains by id, the venues that take and pay, sessions with the wallets' keys, the ledger,
 * and what no request waits for.
 */
import { randomUUID } from "node:crypto";
import type { WalletProvider } from "../../engine/custody/provider/wallet-provider.js";
import type { KeyRegistrations } from "../../engine/custody/registration/registrations.js";
import type { Clock } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { Random } from "../../engine/domain/random.js";
import type { RoutableVenue } from "../../engine/domain/venue.js";
import { type AccountSession, isTradingRoom, type MarketRoom } from "../../engine/ports.js";
import type { Instance } from "../../engine/storage/instance/instance.js";
import type { StateStore } from "../../engine/storage/state-store.js";
import { TransferBlocks } from "../../engine/transfers/reconcile/blocks.js";
import { type PartyView, Reconciler } from "../../engine/transfers/reconcile/reconciler.js";
import { Reconciliation } from "../../engine/transfers/reconcile/reconciliation.js";
import { Rounds } from "../../engine/transfers/rounds.js";
import { TransferBook, type TransferCount } from "../../engine/transfers/transfer-book.js";
import { TransferKeeper } from "../../engine/transfers/transfer-keeper.js";
import type { TransferParts } from "../../engine/transfers/transfer-parts.js";
import type { TransferRecord } from "../../engine/transfers/transfer-record.js";
import { DEFAULT_TRANSFER_OPTIONS, Transfers } from "../../engine/transfers/transfers.js";
import { isMoneyRoom, type VenueMoney } from "../../engine/venue-money.js";
import { EvmChain, type EvmChainStatus } from "../../feeds/shared/chain/evm-chain.js";
import type { ExplorerUrls } from "../accounts/transfer-views.js";
import { StartError } from "../children/start-error.js";
import type { TransferLedger } from "../stream/transfers-feed.js";
import type { TransferConfig } from "./config-chains.js";
import type { ServiceLogger } from "./log.js";

export interface MoneyParts {
  readonly config: TransferConfig;
  readonly provider: Pick<WalletProvider, "sign" | "all">;
  /** Null: of a store that nobody backs up. */
  readonly instance: Instance | null;
  /** The two signing parties; null: somebody outside signs. */
  readonly parties: () => PartyView | null;
  readonly registrations: Pick<KeyRegistrations, "blocks">;
  readonly store: StateStore;
  /** Its writes are of this store. */
  readonly record: TransferRecord;
  readonly rooms: readonly MarketRoom[];
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: ServiceLogger;
}

export interface Money {
  readonly transfers: Transfers;
  readonly ledger: TransferLedger;
  readonly rails: ReadonlyMap<RoutableVenue, VenueMoney>;
  readonly chains: ReadonlyMap<number, EvmChain>;
  readonly explorers: ExplorerUrls;
  readonly openSession: TransferParts["openSession"];
  readonly reconciliation: Reconciliation;
  counts(): readonly TransferCount[];
  chainStatus(): readonly EvmChainStatus[];
  /** What is under way ends, then connections close; the keys and the signer are to live as long. */
  stop(): Promise<void>;
}

/** What a process sent at its end is in every history by then (RESEND_MS, and the longest lag of a rail). */
const SETTLE_MS = 60_000;
const NEVER_RESTORED = { restored: null, release: async () => {} };
/** Calls under way at the stop. */
const CLOSE_GRACE_MS = 1_000;

/** Rejects with STORE_UNAVAILABLE, or StartError for a ledger with a row that cannot be read. */
export async function openMoney(parts: MoneyParts): Promise<Money> {
  const { config, provider, instance, store, record, rooms, clock, random, logger } = parts;
  const book = new TransferBook(store, record, instance);
  await loaded(book);
  const chains = new Map(
    config.chains.map(({ chainId, rpcUrls, confirmations, gasLimits }) => [
      chainId as number,
      new EvmChain({ chainId, urls: rpcUrls, confirmations, gasLimits, clock, random, logger }),
    ]),
  );
  const rails = new Map(rooms.filter(isMoneyRoom).map((room) => [room.venue, room.money]));
  const openSession = sessionsOf(parts);
  const blocks = new TransferBlocks({ store, clock, rails });
  await blocks.load();
  const common: TransferParts = {
    ...{ book, signer: witnessedSigner(provider, instance), instance, blocks, chains, rails, openSession },
    ...{ clock, logger },
    newId: () => randomUUID(),
  };
  const rounds = new Rounds(common);
  const keeper = new TransferKeeper(common, rounds);
  const options = { ...DEFAULT_TRANSFER_OPTIONS, depositWaitMs: config.depositWaitMs };
  const transfers = new Transfers(common, rounds, options);
  const reconciliation = reconciling(parts, common, blocks, keeper);
  keepFrom(keeper, instance);
  return {
    ...{ transfers, rails, chains, openSession, explorers: config.explorerUrls, reconciliation },
    ledger: {
      listen: (hear) => transfers.listen(hear),
      open: () => book.open(),
      newest: (walletId, limit) => book.newest(walletId, limit),
      find: (transferId) => book.find(transferId),
    },
    counts: () => keeper.counts(),
    chainStatus: () => [...chains.values()].map((chain) => chain.status()),
    async stop() {
      await reconciliation.stop();
      await keeper.stop();
      await Promise.all([...chains.values()].map((chain) => chain.close(CLOSE_GRACE_MS)));
    },
  };
}

function reconciling(
  parts: MoneyParts,
  common: TransferParts,
  blocks: TransferBlocks,
  keeper: TransferKeeper,
): Reconciliation {
  const { config, instance, provider, store, clock, logger } = parts;
  const reconciler = new Reconciler({
    ...{ ...common, wallets: () => provider.all(), parties: parts.parties },
    restored: () => instance?.restored ?? null,
  });
  const reconciliation = new Reconciliation({
    ...{ book: common.book, blocks, store, reconciler, clock, logger, settleMs: SETTLE_MS },
    ...{ intervalMs: config.reconcileIntervalMs, instance: instance ?? NEVER_RESTORED },
    lookAgain: () => keeper.lookAgain(),
  });
  reconciliation.start();
  return reconciliation;
}

/** Nothing of a transfer is signed before the co-signer has the count that the transfer made. */
function witnessedSigner(provider: MoneyParts["provider"], instance: Instance | null): TransferParts["signer"] {
  if (instance === null) return provider;
  return {
    async sign(walletId, origin, request) {
      await instance.witnessed();
      return provider.sign(walletId, origin, request);
    },
  };
}

/** Rows of a store that was put back wait for its release: what became of them since is not in it. */
function keepFrom(keeper: TransferKeeper, instance: Instance | null): void {
  if (instance === null || instance.restored === null) {
    keeper.start();
    return;
  }
  let isKept = false;
  instance.listen(() => {
    if (isKept || instance.restored !== null) return;
    isKept = true;
    keeper.start();
  });
}

/** Names the row for the operator: nothing moves before somebody has looked. */
async function loaded(book: TransferBook): Promise<void> {
  try {
    await book.load();
  } catch (error) {
    if (error instanceof ServiceError && error.code === "LEDGER_BROKEN") throw new StartError([error.message]);
    throw error;
  }
}

function sessionsOf({ registrations, rooms }: MoneyParts): TransferParts["openSession"] {
  const trading = new Map(rooms.filter(isTradingRoom).map((room) => [room.venue, room]));
  return async (walletId, venue, payer): Promise<AccountSession | null> => {
    const block = (await registrations.blocks.opened(walletId))[venue] ?? null;
    const room = trading.get(venue);
    if (block === null || room === undefined) return null;
    const opened = room.openSession(block, payer);
    if (!opened.ok) throw new ServiceError("MISSING_CREDENTIALS", { exchange: venue, problem: opened.problem });
    return opened.session;
  };
}
