/**
 * Child program of full-folder.test.ts: both parties over their real folders and stores, of which the backup folder of
 * one has no room while a backup is written to it. Each line on stdin is a command (`full 0`, `full 1`, `room`,
 * `create USER`, `sign USER`), each line on stdout what it came to, as JSON. Ends with its input.
 */
import { createInterface } from "node:readline";
import { ServiceError } from "../../../engine/domain/errors.js";
import type { Party } from "../../../engine/custody/mpc/base/parameters.js";
import type { BackupFolder } from "../../../engine/custody/provider/party-store.js";
import { limitFiles } from "../../test/file-limit.js";
import { WalletWorld } from "./wallet-world.js";

/** Less than a backup has. */
const ROOM_BYTES = 256;

class FullFolderWorld extends WalletWorld {
  full: Party | null = null;

  /** The limit is that of the process, so it stands no longer than the write: the stores have room. */
  override folderOf(party: Party, folder: BackupFolder): BackupFolder {
    return {
      write: async (name, file) => {
        if (this.full !== party) return folder.write(name, file);
        limitFiles(process.pid, ROOM_BYTES);
        try {
          await folder.write(name, file);
        } finally {
          limitFiles(process.pid, null);
        }
      },
    };
  }
}

const world = new FullFolderWorld();
await world.up();

async function told(word: string, name: string): Promise<unknown> {
  try {
    if (word === "create") return await world.service.create(name, null);
    if (word === "sign") {
      const walletId = world.service.find(name, null)?.walletId ?? "";
      return await world.service.sign(walletId, "caller", { kind: "message", bytes: Buffer.from("hello") });
    }
    world.full = word === "full" ? (Number(name) as Party) : null;
    return { full: world.full };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { code: error.code, ...error.context };
  }
}

/** What both sides have of wallets, and what lies in their backup folders. */
function held() {
  const files = ([0, 1] as const).map((party) => world.backupFiles(party));
  return { service: world.service.all().length, cosigner: world.cosigner.wallets().length, files };
}

for await (const line of createInterface({ input: process.stdin })) {
  const [word = "", name = ""] = line.split(" ");
  const result = await told(word, name);
  process.stdout.write(`${JSON.stringify({ result, held: held() })}\n`);
}
await world.end();
process.exit(0);
