/**
 * A volume of one party's that is full while a wallet is made: the caller is told so, neither party keeps half a wallet,
 * and the same request makes it once there is room. The volume is real, in a mount namespace.
 */
import { cpSync } from "node:fs";
import { join } from "node:path";
import { recoverMessageAddress } from "viem";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import {
  CustodyBench,
  type CustodyPlace,
  madeWallet,
  onceServed,
  outcomeOf,
  toldBy,
} from "../support/custody-bench.js";
import { type LocalPair, startLocalPair } from "../support/local-pair.js";
import { MOUNT_MISSING, NEEDS_MOUNT, SmallVolume } from "../support/small-volume.js";

const MESSAGE = "a text to sign";
const VOLUME_MIB = 32;

/** A ceiling: each test starts several processes, and a shared machine may take its cores away for a while. */
vi.setConfig({ testTimeout: 300_000 });

let pair: LocalPair;
let bench: CustodyBench;
let volume: SmallVolume;

beforeAll(async () => {
  pair = await startLocalPair({ seed: 17, symbols: ["BTC", "ETH"] });
  bench = new CustodyBench(pair);
}, 240_000);
afterEach(async () => {
  await bench.end();
  await volume.stop();
});
afterAll(async () => {
  bench.dispose();
  await pair.stop();
});

/** Moves one party's folder to the volume; the paths of the place are those that this process sees. */
function movedTo(place: CustodyPlace, side: "service" | "cosigner"): CustodyPlace {
  const target = join(volume.outside, side);
  cpSync(place[side], target, { recursive: true });
  const folder = join(volume.directory, side);
  const paths = side === "service" ? { CUSTODY_DIR: folder } : {};
  const environment = { COSIGNER_DIR: side === "cosigner" ? folder : place.cosigner, ...paths };
  return {
    ...place,
    [side]: target,
    inside: (command) => volume.inside(command),
    environment: { ...place.environment, ...environment },
  };
}

describe.skipIf(MOUNT_MISSING)(`a wallet is made on a full volume ${MOUNT_MISSING ? NEEDS_MOUNT : ""}`, () => {
  for (const side of ["service", "cosigner"] as const) {
    it(`of the ${side}: 503 and nothing of it, then once there is room`, async () => {
      volume = await SmallVolume.start(VOLUME_MIB);
      const place = movedTo(bench.place(`full-${side}`), side);
      const service = await bench.start(place);
      const key = await bench.createKey(place);
      const caller = bench.caller(service, key);
      await madeWallet(caller, "first");

      volume.fillTo(0);
      const refused = await caller.create("second");
      expect([refused.status, Number(refused.headers["retry-after"]) > 0]).toEqual([503, true]);
      expect((await caller.list()).map(({ userId }) => userId)).toEqual(["first"]);
      volume.clear();
      const { address, walletId } = await madeWallet(caller, "second");
      const signed = await onceServed(() => caller.sign("second", { message: MESSAGE }));
      expect(outcomeOf(signed)).toEqual([200, "ok"]);
      const signature = toldBy(signed).data?.signature ?? "0x";
      expect(await recoverMessageAddress({ message: MESSAGE, signature })).toBe(address);
      const held = await bench.wallets(place);
      const ids = [held.service, held.cosigner].map((wallets) => wallets.map((one) => one.walletId).sort());
      expect(ids[1]).toEqual(ids[0]);
      expect([ids[0]?.length, ids[0]?.includes(walletId)]).toEqual([2, true]);
    });
  }
});
