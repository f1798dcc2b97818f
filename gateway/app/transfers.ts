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
import type { StateStore } from "../../engine/storage/state-store.js";
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
  readonly provider: Pick<WalletProvider, "sign">;
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
  counts(): readonly TransferCount[];
  chainStatus(): readonly EvmChainStatus[];
  /** What is under way ends, then connections close; the keys and the signer are to live as long. */
  stop(): Promise<void>;
}

/** Calls under way at the stop. */
const CLOSE_GRACE_MS = 1_000;

/** Rejects with STORE_UNAVAILABLE, or StartError for a ledger with a row that cannot be read. */
export async function openMoney(parts: MoneyParts): Promise<Money> {
  const { config, provider, store, record, rooms, clock, random, logger } = parts;
  const book = new TransferBook(store, record);
  await loaded(book);
  const chains = new Map(
    config.chains.map(({ chainId, rpcUrls, confirmations, gasLimits }) => [
      chainId as number,
      new EvmChain({ chainId, urls: rpcUrls, confirmations, gasLimits, clock, random, logger }),
    ]),
  );
  const rails = new Map(rooms.filter(isMoneyRoom).map((room) => [room.venue, room.money]));
  const openSession = sessionsOf(parts);
  const common: TransferParts = {
    ...{ book, signer: provider, chains, rails, openSession, clock, logger },
    newId: () => randomUUID(),
  };
  const rounds = new Rounds(common);
  const keeper = new TransferKeeper(common, rounds);
  const options = { ...DEFAULT_TRANSFER_OPTIONS, depositWaitMs: config.depositWaitMs };
  const transfers = new Transfers(common, rounds, options);
  keeper.start();
  return {
    ...{ transfers, rails, chains, openSession, explorers: config.explorerUrls },
    ledger: {
      listen: (hear) => transfers.listen(hear),
      open: () => book.open(),
      newest: (walletId, limit) => book.newest(walletId, limit),
      find: (transferId) => book.find(transferId),
    },
    counts: () => keeper.counts(),
    chainStatus: () => [...chains.values()].map((chain) => chain.status()),
    async stop() {
      await keeper.stop();
      await Promise.all([...chains.values()].map((chain) => chain.close(CLOSE_GRACE_MS)));
    },
  };
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
