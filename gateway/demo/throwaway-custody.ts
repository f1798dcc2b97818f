/**
 * Server wallets of the demo: both parties, their keys and their stores live in a folder of the moment, so that neither
 * DATA_DIR nor a later `npm run serve` has to know of them. Nothing in it is worth anything.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomBytes } from "node:crypto";
import { systemRandom } from "../../engine/custody/mpc/base/random.js";
import { SEALED_VENUE_KEYS } from "../../engine/custody/registration/key-row.js";
import { sealedShares } from "../../engine/custody/provider/share-row.js";
import type { Keyring } from "../../engine/custody/sealing/keyring.js";
import { createSystemClock } from "../../engine/domain/clock.js";
import { openLmdbStore } from "../../engine/storage/lmdb-store.js";
import type { StateStore } from "../../engine/storage/state-store.js";
import { openKeyring } from "../admin/seals.js";
import type { CustodyConfig } from "../app/config-custody.js";
import { CONFIG_FILE, readPartyConfig } from "../custody/party-config.js";
import { makeParties } from "../custody/party-setup.js";
import { MONEY_RULES } from "./local-money.js";

export interface ThrowawayCustody {
  readonly config: CustodyConfig;
  readonly store: StateStore;
  readonly ring: Keyring;
  /** After the service has stopped. */
  remove(): Promise<void>;
}

/** Messages of callers, and what a wallet signs so that it pays into the local venues, trades there and gets its money back. */
const POLICY = { format: 1, callers: { messages: ["text", "binary"] }, service: MONEY_RULES };
const POLICY_FILE = "policy.json";

function allowMoney(cosigner: string): void {
  const configFile = join(cosigner, CONFIG_FILE);
  const config = JSON.parse(readFileSync(configFile, "utf8")) as object;
  writeFileSync(join(cosigner, POLICY_FILE), JSON.stringify(POLICY));
  writeFileSync(configFile, JSON.stringify({ ...config, policyFile: POLICY_FILE }));
}

/** Where the service is killed the folder is left to the system's own cleaning. */
export async function makeThrowawayCustody(): Promise<ThrowawayCustody> {
  const directory = mkdtempSync(join(tmpdir(), "unwind-demo-custody-"));
  const clock = createSystemClock();
  makeParties({ directory, backupKeys: { service: null, cosigner: null }, random: systemRandom });
  allowMoney(join(directory, "cosigner"));
  const read = readPartyConfig(join(directory, "service"), "service", (path) => readFileSync(path, "utf8"));
  if (!read.ok) throw new Error(read.problems.join("; "));
  const kekFile = join(directory, "kek");
  writeFileSync(kekFile, randomBytes(32), { mode: 0o600 });
  const store = openLmdbStore({ directory: join(directory, "store"), clock });
  const places = [sealedShares(0), SEALED_VENUE_KEYS];
  const ring = await openKeyring({ store, kek: { kind: "file", path: kekFile }, formerKek: null, places, clock });
  if (ring === null) throw new Error("no key");
  return {
    config: { party: read.config, cosigner: { kind: "child", directory: join(directory, "cosigner") } },
    ...{ store, ring },
    async remove() {
      ring.close();
      await store.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
