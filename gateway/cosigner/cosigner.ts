/**
 * The co-signer's process: party C over its own folder, store, key-encryption key and policy. It trusts the service for
 * nothing but the link: what it signs it reads itself, and what it allows stands in its own file.
 *
 * Invariant: after `stop` no socket, file or key is open.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { CosignerHost, type CosignerWallet } from "../../engine/custody/provider/cosigner-host.js";
import { DAY_NAMESPACE, PolicyDayBook } from "../../engine/custody/provider/day-book.js";
import { storedCount } from "../../engine/custody/provider/instance-count.js";
import { DurablePartyStore } from "../../engine/custody/provider/durable-party-store.js";
import { createCosignerRunner } from "../../engine/custody/provider/local-runner.js";
import { runnerPorts } from "../../engine/custody/provider/runner-ports.js";
import { sealedShares } from "../../engine/custody/provider/share-row.js";
import { takingOver } from "../../engine/custody/provider/taking-over.js";
import { walletIdText } from "../../engine/custody/provider/wallet-names.js";
import { systemRandom } from "../../engine/custody/mpc/base/random.js";
import { DEFAULT_POLICY, type Policy } from "../../engine/custody/policy/policy.js";
import { readPolicyConfig } from "../../engine/custody/policy/policy-config.js";
import type { VenueActs } from "../../engine/custody/policy/venue-acts.js";
import type { Keyring } from "../../engine/custody/sealing/keyring.js";
import type { Clock } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import { openLmdbStore } from "../../engine/storage/lmdb-store.js";
import { allRows, type StateRow, type StateStore } from "../../engine/storage/state-store.js";
import { secp256k1 } from "../../feeds/shared/sign/secp256k1.js";
import { continueRotation, openKeyring, rotationOf, type SealParts } from "../admin/seals.js";
import type { SealRotation } from "../admin/operations.js";
import { AuditStore } from "../auth/audit-store.js";
import { systemFillRandom } from "../auth/secret-text.js";
import { openBackupFolder } from "../custody/backup-folder.js";
import { CustodyRecord } from "../custody/custody-record.js";
import { LinkServer } from "../custody/link-server.js";
import { openIdentity } from "../custody/link-tls.js";
import type { CosignerConfig, PartyConfig } from "../custody/party-config.js";
import { identityOfParty } from "../custody/party-identity.js";
import { WalletRestores } from "../admin/wallet-restores.js";

export interface CosignerParts {
  readonly config: PartyConfig;
  /** The one of the configuration, or the one it had before. */
  readonly port: number;
  readonly acts: VenueActs;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A commit failed: the process must be restarted. */
  readonly onStoreFailure: () => void;
}

/** Why it cannot start; lines for the operator. */
export class CosignerRefused extends Error {
  override readonly name = "CosignerRefused";
  /** False where waiting may be enough: another process has the store, the socket or the port. */
  readonly isFinal: boolean;

  constructor(message: string, isFinal = true) {
    super(message);
    this.isFinal = isFinal;
  }
}

export interface Cosigner {
  readonly port: number;
  /** Where the service reaches it, from this machine's view. */
  readonly url: string;
  readonly host: CosignerHost;
  readonly restores: WalletRestores;
  readonly audit: AuditStore;
  readonly sealRotation: SealRotation;
  /** Of the key that seals now. */
  readonly kekId: string;
  wallets(): readonly CosignerWallet[];
  stop(): Promise<void>;
}

/** Rejects with CosignerRefused, ServiceError, LinkListenError or PartyCertificateError; nothing is open then. */
export async function openCosigner(parts: CosignerParts): Promise<Cosigner> {
  const undo: (() => Promise<void> | void)[] = [];
  const stop = async () => {
    for (const close of undo.splice(0).reverse()) await close();
  };
  try {
    return await opened(parts, undo, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

async function opened(
  parts: CosignerParts,
  undo: (() => Promise<void> | void)[],
  stop: () => Promise<void>,
): Promise<Cosigner> {
  const { config, clock, logger } = parts;
  const own = config.cosigner;
  const { backupKey } = config;
  if (own === null || backupKey === null) throw new CosignerRefused("the folder is not the co-signer's");
  const policy = readPolicy(own, parts.acts);
  const link = new LinkServer({
    ...{ host: own.host, port: parts.port, identity: openIdentity(config.files, config.peerPins), clock, logger },
  });
  const store = openStore(own, parts);
  undo.push(() => store.close());
  const sealed: SealParts = {
    ...{ store, clock, places: [sealedShares(1)], kek: { kind: "file", path: own.kekFile } },
    formerKek: own.kekFormerFile === null ? null : { kind: "file", path: own.kekFormerFile },
  };
  const ring = await openRing(sealed);
  undo.push(() => ring.close());
  const audit = await AuditStore.open(store, clock, systemFillRandom);
  const record = new CustodyRecord({ audit, logger });
  const host = new CosignerHost({
    ...{ identity: identityOfParty(1, ring, backupKey), link, clock, events: record },
    store: takingOver(new DurablePartyStore(store), ring, 1),
    backups: await openBackupFolder({ path: config.backupDirectory, party: 1, clock }),
    runner: createCosignerRunner(runnerPorts(ring, backupKey, secp256k1)),
    dayBook: await openDayBook(store, policy, parts),
    counts: storedCount(store),
  });
  const restores = restoresOf(host, ring, clock);
  undo.push(() => restores.close());
  await host.start();
  undo.push(() => host.stop());
  continueRotation(sealed, ring, logger);
  const { port } = await link.start();
  undo.push(() => link.close());
  logger.info("cosigner.listening", { host: own.host, port });
  const wallets = () => host.wallets();
  const sealRotation = rotationOf(sealed, ring);
  return {
    ...{ port, url: urlOf(own.host, port), host, restores, audit, sealRotation, wallets, stop },
    get kekId() {
      return ring.kekId;
    },
  };
}

function urlOf(host: string, port: number): string {
  return `tls://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function restoresOf(host: CosignerHost, ring: Keyring, clock: Clock): WalletRestores {
  return new WalletRestores({
    ...{ party: 1, sealer: ring, random: systemRandom, clock },
    stored: (walletId) => host.stored(walletId),
    restore: (wallet) => host.restore(wallet),
  });
}

function openStore({ dataDirectory }: CosignerConfig, { clock, logger, onStoreFailure }: CosignerParts): StateStore {
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  return openLmdbStore({
    ...{ directory: dataDirectory, clock },
    onFailure: () => {
      logger.error("store.commit_failed");
      onStoreFailure();
    },
  });
}

async function openRing(parts: SealParts): Promise<Keyring> {
  const ring = await openKeyring(parts);
  if (ring === null) throw new CosignerRefused("there is no key to seal shares with");
  return ring;
}

/** Read at the start alone: what is signed does not change because a file did. */
function readPolicy({ policyFile }: CosignerConfig, acts: VenueActs): Policy {
  if (policyFile === null) return DEFAULT_POLICY;
  let file: Buffer;
  try {
    file = readFileSync(policyFile);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
    throw new CosignerRefused(`${policyFile} cannot be read (${code})`);
  }
  const read = readPolicyConfig(file, acts);
  if (read.ok) return read.policy;
  const lines = read.problems.map(
    ({ path, problem }) => `${policyFile}: ${path === "" ? "the file" : path} ${problem}`,
  );
  throw new CosignerRefused(lines.join("\n"));
}

async function openDayBook(store: StateStore, policy: Policy, { acts, clock, logger }: CosignerParts) {
  const book = new PolicyDayBook({
    ...{ book: { policy, acts }, nowMs: () => clock.wallMs() },
    refused: (walletId, { rule, reason }) =>
      logger.info("custody.refused", { what: rule, reason, name: walletIdText(walletId) }),
  });
  const rows: StateRow[] = [];
  for await (const row of allRows(store, DAY_NAMESPACE)) rows.push(row);
  for (const key of book.load(rows)) logger.error("custody.day_unreadable", { name: key });
  return book;
}
