/**
 * Server wallets of this service: party S over the service's own store and keyring, the link to the co-signer, and the
 * co-signer's process where it runs beside this one (docs/custody.md).
 */
import { refusalReply } from "../../engine/custody/policy/refusals.js";
import { DurablePartyStore } from "../../engine/custody/provider/durable-party-store.js";
import { EmbeddedProvider } from "../../engine/custody/provider/embedded-provider.js";
import type { CountedStore } from "../../engine/custody/provider/instance-count.js";
import { signingIntent } from "../../engine/custody/provider/signing-intent.js";
import { takingOver } from "../../engine/custody/provider/taking-over.js";
import type { SignerProblem } from "../../engine/custody/provider/wallet-provider.js";
import { systemRandom } from "../../engine/custody/mpc/base/random.js";
import type { Keyring } from "../../engine/custody/sealing/keyring.js";
import { type Clock, delay } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { Owners } from "../../engine/domain/owner.js";
import type { Random } from "../../engine/domain/random.js";
import type { Instance } from "../../engine/storage/instance/instance.js";
import type { StateStore } from "../../engine/storage/state-store.js";
import type { WalletAdmin } from "../admin/wallet-admin.js";
import type { AuditLedger } from "../auth/audit.js";
import { StartError } from "../children/start-error.js";
import { backedUpIn, openBackupFolder } from "../custody/backup-folder.js";
import { CustodyRecord } from "../custody/custody-record.js";
import { LinkClient, type LinkPlace } from "../custody/link-client.js";
import { signerProblemOf } from "../custody/link-status.js";
import { openIdentity } from "../custody/link-tls.js";
import { PartyCertificateError } from "../custody/party-certificate.js";
import { identityOfParty } from "../custody/party-identity.js";
import { WalletRestores } from "../admin/wallet-restores.js";
import { WorkerRunner } from "../custody/worker-runner.js";
import type { CustodyConfig } from "./config-custody.js";
import { creationWritesOf } from "./audit-rows.js";
import { CosignerProcess } from "./cosigner-process.js";
import { serviceWallets } from "./custody-admin.js";
import type { ServiceLogger } from "./log.js";

export interface CustodyParts {
  readonly config: CustodyConfig;
  readonly store: StateStore;
  readonly ring: Keyring;
  readonly owners: Owners;
  /** Over `store`, or over another one where wallets are made for the moment (demo). */
  readonly audit: Pick<AuditLedger, "append" | "auditWrites">;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: ServiceLogger;
  readonly logLevel: string;
  /** The count of the service's store, which the co-signer keeps; null: of a store that nobody backs up. */
  readonly instance: (CountedStore & Pick<Instance, "bindWitness">) | null;
  /** Compiled mains; by default those of this build. */
  readonly workerPath?: string;
  readonly cosignerPath?: string;
}

export interface Custody {
  readonly provider: EmbeddedProvider;
  readonly admin: WalletAdmin;
  stop(): Promise<void>;
}

/** A co-signer that is slow to come is waited for no longer than this: the service trades without it. */
const MEETING_MS = 5_000;
const LOOK_MS = 25;
/** What the two parties' configurations have to change; waiting mends none of it, as it mends VERSION in an upgrade. */
const MISFITS: ReadonlyMap<SignerProblem, string> = new Map([
  ["SUITE", "the co-signer computes by another suite of the protocol"],
  ["SAME_PARTY", "the other side of the link is a service, not a co-signer: COSIGNER_DIR or COSIGNER_URL is wrong"],
  ["SAME_KEK", "both parties seal with one key-encryption key: whoever has it has both shares"],
  ["SAME_BACKUP_KEY", "both parties have one backup key: whoever has its private half has both shares"],
]);

const UNCOUNTED: CountedStore = { toTell: { id: "00".repeat(16), count: 0 }, met() {}, heard() {} };

const WRONG_PIN =
  "server wallets: the two parties do not pin each other's certificates: peerPins in the party.json of one of them is wrong (`unwind custody pin` of the other's folder prints what it has to hold)";

/** Rejects with StartError, or with ServiceError where a row or the backup folder cannot be used. */
export async function openCustody(parts: CustodyParts): Promise<Custody> {
  const undo: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const close of undo.splice(0).reverse()) await close();
  };
  try {
    return await opened(parts, undo, stop);
  } catch (error) {
    await stop();
    throw error instanceof PartyCertificateError ? new StartError([`CUSTODY_DIR: ${error.message}`]) : error;
  }
}

async function opened(parts: CustodyParts, undo: (() => Promise<void>)[], stop: () => Promise<void>): Promise<Custody> {
  const { config, store, ring, owners, audit, clock, random, logger } = parts;
  const { backupKey, backupDirectory, files, peerPins } = config.party;
  if (backupKey === null) throw new StartError(["CUSTODY_DIR: there is no backup key"]);
  const record = new CustodyRecord({ audit, logger });
  const identity = openIdentity(files, peerPins);
  const backups = await openBackupFolder({ path: backupDirectory, party: 0, clock });
  const cosigner = reachOf(parts, undo);
  const link = new LinkClient({ ...{ place: () => cosigner.place(), identity, clock, random, logger } });
  const { workerPath } = parts;
  const runner = new WorkerRunner({
    ...{ ring, backupKey: backupKey.bytes, clock, logger },
    ...(workerPath === undefined ? {} : { workerPath }),
  });
  undo.push(() => runner.close());
  const provider = new EmbeddedProvider({
    ...{ identity: identityOfParty(0, ring, backupKey), link, backups, runner, clock, events: record, owners },
    store: takingOver(new DurablePartyStore(store), ring, 0),
    rows: store,
    backedUp: () => backedUpIn(backupDirectory, 0),
    intents: { encode: signingIntent },
    rules: { explain: refusalReply },
    random: systemRandom,
    linkProblem: () => signerProblemOf(link.status()),
    creationWrites: creationWritesOf(audit),
    instance: parts.instance ?? UNCOUNTED,
  });
  parts.instance?.bindWitness(() => provider.tellCount());
  const restores = new WalletRestores({
    ...{ party: 0, sealer: ring, random: systemRandom, clock },
    stored: (walletId) => provider.stored(walletId),
    restore: async (wallet, owner) => {
      if (owner === null) throw new ServiceError("INTERNAL", { problem: "custody: a backup of S without owner" });
      await provider.restore(wallet, owner);
    },
  });
  undo.push(async () => restores.close());
  await provider.start();
  undo.push(() => provider.stop());
  link.start();
  undo.push(() => link.close());
  await meeting(provider, cosigner, clock);
  return { provider, admin: serviceWallets(provider, restores), stop };
}

/** Where the co-signer is. One that this service starts may say why it does not, and both folders are at hand here. */
interface CosignerReach {
  readonly isOwn: boolean;
  place(): LinkPlace | null;
  /** What its operator has to change before it starts; null: nothing known. */
  refusal(): string | null;
}

function reachOf(parts: CustodyParts, undo: (() => Promise<void>)[]): CosignerReach {
  const { config, clock, random, logger, logLevel, cosignerPath } = parts;
  const { cosigner } = config;
  if (cosigner.kind === "remote") return { isOwn: false, place: () => cosigner, refusal: () => null };
  const { directory } = cosigner;
  const process = new CosignerProcess({
    ...{ directory, clock, random, logger, logLevel },
    ...(cosignerPath === undefined ? {} : { childPath: cosignerPath }),
  });
  undo.push(() => process.stop());
  return {
    isOwn: true,
    place: () => process.place(),
    refusal() {
      const { refusal } = process;
      return refusal === null ? null : `the co-signer does not start: ${refusal}`;
    },
  };
}

/** Throws StartError where the two parties may not work together; a co-signer that is away keeps nobody from starting. */
async function meeting(provider: EmbeddedProvider, cosigner: CosignerReach, clock: Clock): Promise<void> {
  for (let waitedMs = 0; waitedMs < MEETING_MS; waitedMs += LOOK_MS) {
    const { problem } = provider.status();
    if (problem === null) return;
    const misfit = MISFITS.get(problem) ?? cosigner.refusal();
    if (misfit !== null) throw new StartError([`server wallets: ${misfit}`]);
    await delay(clock, LOOK_MS);
  }
  // Elsewhere a stranger on the way could bring this about, and the service trades without the co-signer.
  if (cosigner.isOwn && provider.status().problem === "PIN") throw new StartError([WRONG_PIN]);
}
