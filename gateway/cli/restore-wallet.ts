/**
 * `unwind wallets inventory` and `restore`: the operator's half of a restore (docs/mpc.md, section 13). The private key
 * and the opened share are buffers here, used and wiped; what leaves is sealed to a key of the party's process.
 */
import { readFileSync, statSync } from "node:fs";
import { openBackupFile, resealBackup } from "../../engine/custody/provider/backup-file.js";
import { parseBackupPublicKey, readBackupPrivateKey } from "../../engine/custody/provider/backup-key.js";
import type { BackupName } from "../../engine/custody/provider/backup-name.js";
import { readInventory, type WalletInventory } from "../../engine/custody/provider/restore-plan.js";
import { walletIdBytes } from "../../engine/custody/provider/wallet-names.js";
import { systemRandom } from "../../engine/custody/mpc/base/random.js";
import { readSecretFile } from "../../engine/custody/sealing/secret-file.js";
import { ServiceError } from "../../engine/domain/errors.js";
import { BACKUPS_MAX } from "../admin/parameters.js";
import { REQUEST_BYTES_MAX } from "../admin/protocol.js";
import type { RestoreOffer } from "../admin/wallet-admin.js";
import { listBackups, readBackup } from "../custody/backup-folder.js";
import { ask } from "./ask.js";
import type { CliTools } from "./cli-call.js";
import { CliFailure, EXIT_FAULT, EXIT_REFUSED, EXIT_USAGE } from "./exit-codes.js";

const PEER_BYTES_MAX = 1_048_576;
/** For the rest of the line: names, id, operation. */
const LINE_REST_BYTES = 1_024;

interface BackupsWish {
  /** UUID. */
  readonly walletId: string;
  /** Of the backups. */
  readonly folder: string;
  readonly cosigner: string | null;
}

export interface RestoreWish extends BackupsWish {
  readonly keyFile: string;
  readonly peerFile: string;
}

/** Rejects with CliFailure. */
export async function inventoryForPeer({ reach }: CliTools, wish: BackupsWish): Promise<unknown> {
  const names = await namesOf(wish);
  const admin = await reach({ creates: false, cosigner: wish.cosigner });
  try {
    return await ask(admin, "wallets.inventory", { walletId: wish.walletId, backups: names.map(shortName) });
  } finally {
    await admin.close();
  }
}

/** Rejects with CliFailure. */
export async function restoreWallet({ reach }: CliTools, wish: RestoreWish): Promise<unknown> {
  const { walletId, cosigner } = wish;
  const peer = readPeer(wish.peerFile);
  const names = await namesOf(wish);
  const admin = await reach({ creates: false, cosigner });
  try {
    const params = { walletId, backups: names.map(shortName), peer };
    if (Buffer.byteLength(JSON.stringify(params)) > REQUEST_BYTES_MAX - LINE_REST_BYTES) throw tooMany();
    const offer = (await ask(admin, "wallets.restoreKey", params)) as RestoreOffer;
    if (offer.kind === "keep") return { walletId, epoch: offer.epoch, state: "KEPT" };
    const backup = (await resealed(offer, names, wish)).toString("base64");
    return await ask(admin, "wallets.restore", { walletId, backup });
  } finally {
    await admin.close();
  }
}

/** The backup of the offer, sealed to the key of the process. */
async function resealed(
  { epoch, tag, publicKey }: RestoreOffer & { readonly kind: "restore" },
  names: readonly BackupName[],
  { folder, keyFile }: RestoreWish,
): Promise<Buffer> {
  const name = names.find((each) => each.epoch === epoch && tag.startsWith(tagText(each)));
  if (name === undefined)
    throw new CliFailure(
      EXIT_REFUSED,
      "BACKUP_MISSING",
      `${folder} has no backup of epoch ${epoch} that both sides have`,
    );
  const target = parseBackupPublicKey(publicKey);
  if (!target.ok) throw new CliFailure(EXIT_FAULT, "INTERNAL", "the process gave no key to seal to");
  const file = await readFile(folder, name);
  const privateKey = readPrivateKey(keyFile);
  try {
    const opened = openBackupFile(name, file, privateKey);
    if (!opened.ok)
      throw new CliFailure(
        EXIT_REFUSED,
        "BACKUP_REFUSED",
        `the backup of epoch ${epoch} ${BACKUP_TEXTS[opened.reason]}`,
        {
          reason: opened.reason,
        },
      );
    try {
      return resealBackup(opened.backup, target.key, systemRandom);
    } finally {
      opened.backup.wipe();
    }
  } finally {
    privateKey.fill(0);
  }
}

const BACKUP_TEXTS = {
  LENGTH: "is no backup: its length is wrong",
  FORM: "is no backup, or one of a later version",
  NAME: "says something else than its name",
  KEY: "is sealed to another key than that of --key-file",
  BROKEN: "is damaged",
  CONTENT: "holds no share of this wallet",
} as const;

async function namesOf({ walletId, folder, cosigner }: BackupsWish): Promise<readonly BackupName[]> {
  const bytes = walletIdBytes(walletId.toLowerCase());
  if (bytes === null) throw new CliFailure(EXIT_USAGE, "INVALID_PARAMETERS", "walletId must be the UUID of a wallet");
  const all = await inFolder(() => listBackups(folder, cosigner === null ? 0 : 1));
  const names = all.filter((name) => bytes.equals(name.walletId));
  if (names.length > BACKUPS_MAX) throw tooMany();
  return names;
}

function readFile(folder: string, name: BackupName): Promise<Buffer> {
  return inFolder(() => readBackup(folder, name));
}

async function inFolder<Result>(read: () => Promise<Result>): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { reason, path } = error.context;
    throw new CliFailure(EXIT_USAGE, String(reason), `${String(path)} cannot be read (${String(reason)})`);
  }
}

/** A secret buffer that the caller wipes. */
function readPrivateKey(path: string): Buffer {
  let content: Buffer;
  try {
    content = readSecretFile(path);
  } catch (error) {
    const problem = error instanceof ServiceError ? String(error.context["problem"]) : `${path} cannot be read`;
    throw new CliFailure(EXIT_USAGE, "KEY_FILE", problem);
  }
  try {
    const key = readBackupPrivateKey(content);
    if (key === null)
      throw new CliFailure(EXIT_USAGE, "KEY_FILE", `${path} holds no backup key: 32 bytes or 64 hex digits`);
    return key;
  } finally {
    content.fill(0);
  }
}

function readPeer(path: string): WalletInventory {
  let source: unknown = null;
  try {
    if (statSync(path).size <= PEER_BYTES_MAX) source = JSON.parse(readFileSync(path, "utf8"));
  } catch {
    // Named below, whatever is wrong with it.
  }
  const inventory = readInventory(source);
  if (inventory !== null) return inventory;
  throw new CliFailure(
    EXIT_USAGE,
    "PEER_INVENTORY",
    `${path} is not what \`unwind wallets inventory\` printed at the other side`,
  );
}

function tooMany(): CliFailure {
  return new CliFailure(
    EXIT_USAGE,
    "TOO_MANY_BACKUPS",
    "the wallet has more backups than fit into one request: leave those of its last epochs in the folder",
  );
}

function shortName(name: BackupName): string {
  return `${name.epoch}.${tagText(name)}`;
}

function tagText({ tag }: BackupName): string {
  return Buffer.from(tag).toString("hex");
}
