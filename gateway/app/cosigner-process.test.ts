/** The place of the co-signer over its restarts, with children that behave as scripted. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { silentLogger } from "../../engine/domain/logger.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { CosignerProcess } from "./cosigner-process.js";

let directory: string;
let running: CosignerProcess | null;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "unwind-cosigner-process-"));
  running = null;
});
afterEach(async () => {
  await running?.stop();
  rmSync(directory, { recursive: true, force: true });
});

/** Listens on the port it is given, or on 4001; a port that it had before is somebody else's where it is taken. */
const CHILD = (isTaken: boolean) => `process.on("disconnect", () => process.exit(0));
process.once("message", ({ port }) => {
  if (${isTaken} && port !== 0) process.send({ kind: "refused", text: "EADDRINUSE", isFinal: false }, () => process.exit(2));
  else process.send({ kind: "ready", port: port || ${isTaken ? 4002 : 4001} });
});`;

it("a co-signer that comes again has its port, and another one where that is taken meanwhile", async () => {
  const childPath = join(directory, "child.cjs");
  writeFileSync(childPath, CHILD(false));
  const clock = new VirtualClock();
  const ports = { clock, random: { next: () => 0.5 }, logger: silentLogger };
  const cosigner = new CosignerProcess({ ...ports, directory, logLevel: "silent", childPath });
  running = cosigner;
  expect(cosigner.place()).toBeNull();
  const again = async (expected: number): Promise<void> => {
    process.kill(cosigner.state().processId ?? 0, "SIGKILL");
    await expect.poll(() => cosigner.place(), { timeout: 60_000 }).toBeNull();
    for (let waits = 0; cosigner.place() === null && waits < 10; waits++) {
      await expect.poll(() => cosigner.state().state, { timeout: 60_000 }).toMatch(/waiting|ready/);
      if (cosigner.state().state === "waiting") clock.advance(60_000);
      await expect.poll(() => cosigner.state().state, { timeout: 60_000 }).not.toBe("starting");
    }
    expect(cosigner.place()).toEqual({ host: "127.0.0.1", port: expected });
  };
  expect(await cosigner.started()).toMatchObject({ state: "ready" });
  expect(cosigner.place()).toEqual({ host: "127.0.0.1", port: 4001 });
  await again(4001);
  writeFileSync(childPath, CHILD(true));
  await again(4002);
}, 600_000);
