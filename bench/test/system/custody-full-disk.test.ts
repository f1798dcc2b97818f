/**
 * Server wallets where the store of a party finds no room: `npm run serve` and `unwind cosigner` as processes, of which one
 * may make no file longer. A creation is refused with its reason, is no half wallet, and is made once there is room.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { limited, limitFiles } from "../../../gateway/test/file-limit.js";
import {
  type CustodyBench,
  type CustodyPlace,
  madeWallet,
  onceServed,
  outcomeOf,
  toldBy,
  type WalletCaller,
  type WalletFields,
  walletIn,
} from "../support/custody-bench.js";
import { benchOfFile, MESSAGE, signerOf } from "../support/custody-file.js";

/** Room for a start and a few wallets of some 40 KiB. */
const FILE_BYTES = 320 << 10;
const TRIES_MAX = 100;

let bench: CustodyBench;
benchOfFile(18, (made) => {
  bench = made;
});

interface Filled {
  readonly made: WalletFields[];
  /** Its user. */
  readonly refused: string;
  /** The last commit of all found no room: the parties agree on the wallet once there is some. */
  readonly isUnsettled: boolean;
}

/** Makes wallets until one is refused for room; what a machine that stood still refuses is asked for again. */
async function fill(caller: WalletCaller, reason: string): Promise<Filled> {
  const made: WalletFields[] = [];
  let last = "";
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const userId = `user-${made.length}`;
    const reply = await caller.create(userId);
    const { code, details } = toldBy(reply);
    if (reply.status === 200) made.push(walletIn(reply));
    else if (code === "WALLET_EXISTS") made.push(walletIn(await caller.find(userId)));
    else if (details?.["reason"] === reason) {
      expect(outcomeOf(reply)).toEqual([503, "SIGNER_UNAVAILABLE"]);
      return { made, refused: userId, isUnsettled: details["isUnsettled"] === true };
    } else last = reply.text;
  }
  throw new Error(`nothing was refused for room: ${last}`);
}

/** Both parties hold exactly the wallets that callers got. */
async function expectHeld(place: CustodyPlace, wallets: readonly WalletFields[]): Promise<void> {
  const held = await bench.wallets(place);
  const ids = (lines: readonly { readonly walletId: string }[]) => lines.map(({ walletId }) => walletId).sort();
  expect(ids(held.service)).toEqual(ids(wallets));
  expect(ids(held.cosigner)).toEqual(ids(wallets));
}

async function expectSigns(caller: WalletCaller, { walletId, address }: WalletFields): Promise<void> {
  expect(await signerOf(await onceServed(() => caller.sign(walletId, { message: MESSAGE })))).toBe(address);
}

describe("a store that may not grow", () => {
  it.each([
    ["service", "STORE_FAILED"],
    ["cosigner", "COSIGNER_FAILED"],
  ] as const)(
    "of the %s is 503 with %s, makes no half wallet, and goes on once there is room",
    async (side, reason) => {
      const place = bench.place(`full-${side}`);
      const inside = (command: readonly string[]) => limited(command, FILE_BYTES);
      const cosigner = await bench.cosignerProcess(place, side === "cosigner" ? inside : undefined);
      const service = await bench.start(side === "service" ? { ...place, inside } : place, cosigner.environment);
      const caller = bench.caller(service, await bench.createKey(place));
      const { made, refused, isUnsettled } = await fill(caller, reason);
      const file = join(side === "service" ? place.dataDir : join(place.cosigner, "data"), "data.mdb");
      expect(statSync(file).size).toBeLessThanOrEqual(FILE_BYTES);
      expect(made.length).toBeGreaterThan(0);
      const again = await caller.create(refused);
      expect(outcomeOf(again)).toEqual([503, "SIGNER_UNAVAILABLE"]);
      if (!isUnsettled) await expectHeld(place, made);

      limitFiles(side === "service" ? service.child.pid : cosigner.running.child.pid, null);
      const late = await madeWallet(caller, refused);
      for (const wallet of [...made, late]) await expectSigns(caller, wallet);
      await expectHeld(place, [...made, late]);
      expect(service.child.exitCode ?? cosigner.running.child.exitCode).toBeNull();
    },
  );
});
