/**
 * Party S of the memory test: server wallets as the service opens them, without its routes. Arguments: folder of both
 * parties, port of the co-signer, file for draws, file for frames.
 */
import { BroadcastChannel, setEnvironmentData } from "node:worker_threads";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sealedShares } from "../../../engine/custody/provider/share-row.js";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { Owners } from "../../../engine/domain/owner.js";
import { systemRandom } from "../../../engine/domain/random.js";
import { openLmdbStore } from "../../../engine/storage/lmdb-store.js";
import { openKeyring } from "../../../gateway/admin/seals.js";
import { openCustody } from "../../../gateway/app/custody.js";
import { createLogger } from "../../../gateway/app/log.js";
import { AuditStore } from "../../../gateway/auth/audit-store.js";
import { systemFillRandom } from "../../../gateway/auth/secret-text.js";
import { LinkClient } from "../../../gateway/custody/link-client.js";
import { readPartyConfig } from "../../../gateway/custody/party-config.js";
import { obey, ownHeap, patientClock, tap, writeDraws } from "./watched-party.js";

const [, , directory = "", port = "", drawsFile = "", framesFile = ""] = process.argv;
// The thread of the sessions has no environment of its own and reads it from here.
setEnvironmentData("custody-draws", drawsFile);
writeDraws(drawsFile);
const { hold } = tap(LinkClient, framesFile);
const heap = ownHeap();
const thread = new BroadcastChannel("custody-memory");

async function start() {
  const clock = createSystemClock();
  const own = join(directory, "service");
  const read = readPartyConfig(own, "service", (path) => readFileSync(path, "utf8"));
  if (!read.ok) throw new Error(read.problems.join("; "));
  const store = openLmdbStore({ directory: join(own, "data"), clock });
  const kek = { kind: "file", path: join(own, "kek") } as const;
  const ring = await openKeyring({ store, kek, formerKek: null, places: [sealedShares(0)], clock });
  if (ring === null) throw new Error("no key");
  const custody = await openCustody({
    ...{ store, ring, clock: patientClock(), random: systemRandom, logger: createLogger("info"), logLevel: "info" },
    config: { party: read.config, cosigner: { kind: "remote", host: "127.0.0.1", port: Number(port) } },
    ...{ instance: null, owners: new Owners(), audit: await AuditStore.open(store, clock, systemFillRandom) },
    workerPath: fileURLToPath(new URL("./custody-worker.child.js", import.meta.url)),
  });
  return custody.provider;
}

const provider = await start();
let walletId = "";

/** In the thread of the sessions, then here. */
async function inBoth(act: "collect" | "fill"): Promise<void> {
  const done = once(thread as unknown as EventTarget, "message");
  thread.postMessage(act);
  await done;
  heap[act]();
}

obey(async (command) => {
  switch (command.kind) {
    case "create": {
      const wallet = await provider.create(command.userId, null);
      walletId = wallet.walletId;
      return { walletId, publicKey: wallet.publicKey };
    }
    case "sign":
      return (await provider.sign(walletId, "caller", { kind: "message", bytes: Buffer.from(command.text) })).signature;
    case "ready":
      return provider.status().problem;
    case "hold":
      return hold(command.name);
    case "collect":
    case "fill":
      return inBoth(command.kind);
  }
});
process.send?.({ result: provider.status().problem });
