/**
 * Share of a core that the embedded store takes while a service of four venues records and nobody calls it, as in the
 * demo. The kernel reports its processor time; the scenario asks the store nothing meanwhile.
 */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { ROUTABLE_VENUES } from "../../engine/domain/venue.js";
import { startSystem } from "../lib/system.js";
import { median } from "../lib/stats.js";
import type { Scenario } from "../lib/types.js";

const GOAL_PERCENT = 3;
/** Ticks per second of the kernel's process clock, the same on every Linux. */
const TICKS_PER_SECOND = 100;
/** Time for the first tables and the first books. */
const SETTLE_S = 10;

export const quietStore: Scenario = {
  name: "quiet-store",
  title: "What the embedded store takes while little happens",
  async run({ smoke, log }) {
    const system = await startSystem({ rooms: ROUTABLE_VENUES, isRecording: true });
    try {
      await delay(smoke ? 500 : SETTLE_S * 1_000);
      const pid = storePid(system.gatewayPid);
      const percents: number[] = [];
      const before = await storedRows(system.url);
      const seconds = smoke ? 1 : 20;
      for (let run = 0; run < (smoke ? 1 : 3); run++) {
        const ticks = processorTicks(pid);
        await delay(seconds * 1_000);
        percents.push(((processorTicks(pid) - ticks) / TICKS_PER_SECOND / seconds) * 100);
        log(`store: ${percents.at(-1)?.toFixed(1)} % of a core`);
      }
      const rows = ((await storedRows(system.url)) - before) / (seconds * percents.length);
      const ours = median(percents);
      const row = {
        what: "embedded store of a service that records four venues and is not called",
        unit: "% of a core",
        ours,
        peerName: "",
        peer: null,
        ratio: ours,
        goal: { kind: "atMost", value: GOAL_PERCENT },
        runCount: percents.length,
        detail: `${rows.toFixed(0)} rows a second`,
      } as const;
      return { rows: [row], profile: [] };
    } finally {
      await system.stop();
    }
  },
};

/** Returns the pid of the sidecar, a child of the gateway. */
function storePid(gatewayPid: number): number {
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (Number(statOf(name)[1]) !== gatewayPid) continue;
      if (readFileSync(`/proc/${name}/cmdline`, "utf8").includes("storage.child")) return Number(name);
    } catch {
      // The process ended in the meantime.
    }
  }
  throw new Error("the service has no store of its own");
}

/** Returns the user and system time of all its threads. */
function processorTicks(pid: number): number {
  const fields = statOf(String(pid));
  return Number(fields[11]) + Number(fields[12]);
}

/** Returns state, parent, group …: the fields behind the name, which may contain any character. */
function statOf(pid: string): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

async function storedRows(url: string): Promise<number> {
  const reply = (await (await fetch(`${url}/api/status`)).json()) as {
    data: { recording: { tables?: Readonly<Record<string, { readonly stored: number }>> } };
  };
  return Object.values(reply.data.recording.tables ?? {}).reduce((sum, { stored }) => sum + stored, 0);
}
