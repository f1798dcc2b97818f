/**
 * Server wallets, wired: who signs for them (two parties of our own, or an outside signer), the keys that they have at
 * venues, and the desks that the routes know.
 */
import type { WalletProvider } from "../../engine/custody/provider/wallet-provider.js";
import type { Clock } from "../../engine/domain/clock.js";
import type { Owners } from "../../engine/domain/owner.js";
import type { Random } from "../../engine/domain/random.js";
import type { MarketRoom } from "../../engine/ports.js";
import type { KeyedHash } from "../../engine/storage/keyed-hash.js";
import type { Instance } from "../../engine/storage/instance/instance.js";
import { cryptoRandomIds } from "../../engine/storage/server-secret.js";
import type { StateStore, StateWrite } from "../../engine/storage/state-store.js";
import type { TransferRecord } from "../../engine/transfers/transfer-record.js";
import type { WalletAct } from "../accounts/act-rows.js";
import { KeyDesk } from "../accounts/key-desk.js";
import { KeyedRequests } from "../accounts/keyed-requests.js";
import { isWalletId } from "../accounts/names.js";
import { TransferDesk } from "../accounts/transfer-desk.js";
import { WalletBalances } from "../accounts/wallet-balances.js";
import { WalletDesk } from "../accounts/wallet-desk.js";
import { StartError } from "../children/start-error.js";
import type { StoredWallets } from "../stream/stored-blocks.js";
import type { Administration } from "./administration.js";
import { appendOrLog, creationWritesOf } from "./audit-rows.js";
import type { Config } from "./config.js";
import { type Custody, type CustodyParts, openCustody } from "./custody.js";
import type { ServiceLogger } from "./log.js";
import { assertNoOutsideWallets, openOutsideSigner } from "./outside-signer.js";
import type { Recording } from "./recording.js";
import { type Money, type MoneyParts, openMoney } from "./transfers.js";
import { openVenueKeys, type VenueKeys, type VenueKeysParts } from "./venue-keys.js";

/** Both parties apart from the service's own keys and rows. */
export interface CustodyElsewhere extends Pick<CustodyParts, "config" | "store" | "ring"> {
  /** What the routes see instead of the wallets themselves. */
  readonly around?: (wallets: WalletProvider) => WalletProvider;
}

export interface WalletsParts {
  readonly config: Config;
  /** Instead of what the configuration names (wiring.ts). */
  readonly overrides: {
    readonly walletProvider?: WalletProvider;
    readonly throwawayCustody?: CustodyElsewhere;
  };
  readonly store: StateStore;
  readonly hash: KeyedHash;
  /** The count of the store. */
  readonly instance: Instance;
  readonly owners: Owners;
  readonly recording: Pick<Recording, "transfers">;
  readonly rooms: readonly MarketRoom[];
  readonly administration: Administration;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: ServiceLogger;
  /** Ends what has been opened so far, in the order of opening. */
  readonly undo: (() => Promise<void>)[];
}

/** Server wallets, if there are any: those of the configuration, or of the program that builds the service. */
export interface Wallets {
  readonly provider: WalletProvider | null;
  readonly custody: Custody | null;
  /** Null without wallets, and without a key to seal with. */
  readonly keys: VenueKeys | null;
  /** Likewise. */
  readonly money: Money | null;
  /** Rows of the audit log for commits of the ledger of transfers. */
  readonly actWrites: (act: WalletAct) => readonly StateWrite[];
}

/** Stopped after the server: a signature under way is answered. */
export async function startWallets(parts: WalletsParts): Promise<Wallets> {
  const { config, overrides, store, owners, administration, clock, random, logger, undo } = parts;
  const provider = overrides.walletProvider ?? (await startOutsideSigner(parts));
  const { ring } = administration;
  const { throwawayCustody } = overrides;
  const own = throwawayCustody ?? ownCustody(config, store, administration);
  const audit = throwawayCustody === undefined ? administration.audit : auditElsewhere(administration, logger);
  const actWrites = (act: WalletAct) => audit.auditWrites(act);
  if (own === null || provider !== null) {
    const signs = { provider, store, ring, instance: parts.instance, parties: () => null };
    const held = provider === null || ring === null ? NO_KEYS : await startKeys(parts, { ...signs, provider, ring });
    return { provider, custody: null, ...held, actWrites };
  }
  await assertNoOutsideWallets(own.store);
  const instance = throwawayCustody === undefined ? parts.instance : null;
  const custody = await openCustody({
    ...own,
    instance,
    owners,
    audit,
    clock,
    random,
    logger,
    logLevel: config.logLevel,
  });
  undo.push(() => custody.stop());
  const signed = custody.provider;
  const served = throwawayCustody?.around?.(signed) ?? signed;
  const parties = () => ({ wallets: signed.agreement(), lost: signed.lost() });
  const held = await startKeys(parts, { ...own, provider: served, instance, parties });
  return { provider: served, custody, ...held, actWrites };
}

async function startOutsideSigner(parts: WalletsParts): Promise<WalletProvider | null> {
  const { config, store, owners, hash, administration, clock, logger, undo } = parts;
  if (config.outsideSigner === null) return null;
  const creationWrites = creationWritesOf(administration.audit);
  const wallets = await openOutsideSigner({
    config: config.outsideSigner,
    ...{ store, owners, hash, creationWrites, clock, logger },
  });
  undo.push(() => wallets.stop());
  return wallets.provider;
}

const NO_KEYS = { keys: null, money: null };

/** Keys first: money that moves at a venue is signed with them. */
async function startKeys(
  parts: WalletsParts,
  signs: Pick<VenueKeysParts, "store" | "ring"> &
    Pick<MoneyParts, "instance" | "parties"> & { provider: WalletProvider },
): Promise<Pick<Wallets, "keys" | "money">> {
  const { config, rooms, recording, administration, clock, random, logger, undo } = parts;
  const { provider, store, ring, instance, parties } = signs;
  const keys = await openVenueKeys({ provider, store, ring, rooms, clock, logger });
  undo.push(() => keys.stop());
  administration.watchVenueKeys((key, value) => keys.rewrapped(key, value));
  const { registrations } = keys;
  const money = await openMoney({
    ...{ config: config.transfers, provider, registrations, store, rooms, clock, random, logger },
    record: store === parts.store ? recording.transfers : recordElsewhere(parts),
    ...{ instance, parties },
  });
  undo.push(() => money.stop());
  return { keys, money };
}

/** Nor can a ledger in another store have its rows of the record in one commit with it. */
function recordElsewhere({ recording, store, logger }: WalletsParts): TransferRecord {
  return {
    changed(row, change) {
      const { writes, committed } = recording.transfers.changed(row, change);
      if (writes.length === 0) return { writes, committed };
      const write = (): void => {
        store.commit({ writes }).then(committed, (error: unknown) => {
          logger.error("transfers.not_recorded", { errorName: error instanceof Error ? error.name : "unknown" });
        });
      };
      return { writes: [], committed: write };
    },
  };
}

/** Wallets of another store cannot have their rows of the audit log in one commit with them. */
function auditElsewhere({ audit }: Administration, logger: ServiceLogger): CustodyParts["audit"] {
  return {
    append: (row) => audit.append(row),
    auditWrites(row) {
      void appendOrLog(audit, logger, row);
      return [];
    },
  };
}

function ownCustody(
  { custody }: Config,
  store: StateStore,
  { ring }: Administration,
): Pick<CustodyParts, "config" | "store" | "ring"> | null {
  if (custody === null) return null;
  if (ring === null) throw new StartError(["CUSTODY_DIR needs a key to seal shares with: set KEK_FILE"]);
  return { config: custody, store, ring };
}

/** What the server mounts. */
export function walletDesks(
  { store, hash, owners, administration, clock, logger }: WalletsParts,
  provider: WalletProvider,
  { keys, money, actWrites }: Pick<Wallets, "keys" | "money" | "actWrites">,
) {
  const appendAct = (act: WalletAct) => administration.audit.append(act);
  const keyed = new KeyedRequests({ owners, store, hash, randomIds: cryptoRandomIds, clock, logger });
  const walletDesk = new WalletDesk({ provider, owners, keyed, logger, appendAct });
  if (keys === null) return { walletDesk };
  const { registrations, counts } = keys;
  const storedWallets: StoredWallets = (walletId, ownerId) => {
    const wallet = isWalletId(walletId) ? walletDesk.find(walletId, ownerId) : null;
    if (wallet === null) return null;
    return {
      ...{ walletId: wallet.walletId, address: wallet.address },
      blocks: () => registrations.blocks.stored(wallet.walletId),
      listen: (hear) => registrations.blocks.listen(wallet.walletId, hear),
    };
  };
  const keyDesk = new KeyDesk({ registrations, keyed, logger, appendAct });
  const served = { walletDesk, keyDesk, storedWallets, keyCounts: counts };
  if (money === null) return served;
  const { chainStatus, explorers, ledger, rails, reconciliation, transfers } = money;
  const reconciled = () => reconciliation.view();
  const balances = new WalletBalances(money);
  const desk = new TransferDesk({
    ...{ transfers, balances, keyed, hash, explorers, appendAct, actWrites, clock, logger },
  });
  return { ...served, money: { desk, rails, ledger, counts: () => money.counts(), chainStatus, reconciled } };
}
