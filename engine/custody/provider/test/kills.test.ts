/**
 * Either party is killed before or after each of its durable effects and each of its messages, in a creation, a
 * signature, a refresh and a freeze; then it starts again over its rows. Afterwards the wallet signs, or the caller is
 * told truly why it does not; one user id never has two wallets, and a wallet has one row that says who made it; nothing is signed that C did not agree to; a failed
 * check has frozen the wallet or is counted.
 */
import { afterAll, describe, expect, it, vi } from "vitest";
import type { Party } from "../../mpc/base/parameters.js";
import { decodeJson } from "../../../storage/state-store.js";
import { CREATION_NAMESPACE, CustodyBench, flipped } from "./custody-bench.js";
import { madeWallet, storedRow, walletRowsOf } from "./made-wallet.js";
import type { MemoryRows } from "./memory-party.js";

vi.mock("../../mpc/base/point.js", async (original) =>
  (await import("../../mpc/test/memo.js")).memoizedPoints(await original<typeof import("../../mpc/base/point.js")>()),
);

/** Of so many points one is a kill. The short form leaves points out where a kill costs a key generation's arithmetic. */
const EVERY: Readonly<Record<Act, number>> =
  process.env["CUSTODY_KILLS"] === "all"
    ? { creation: 1, signature: 1, refresh: 1, freeze: 1 }
    : { creation: 8, signature: 2, refresh: 9, freeze: 2 };
const ACTS = ["creation", "signature", "refresh", "freeze"] as const;
type Act = (typeof ACTS)[number];

// Each kill runs up to three key generations' arithmetic: a machine that stands still for seconds must not end it.
vi.setConfig({ testTimeout: 1_200_000, hookTimeout: 600_000 });

const made = madeWallet();
const counts = new Map<string, number>();

afterAll(() => {
  process.stdout.write(`kills: ${[...counts].map(([name, found]) => `${name} ${found}`).join(", ")}\n`);
});

function begun(both: CustodyBench, act: Act): Promise<unknown> {
  if (act === "creation") return both.service.create("ada", null);
  if (act === "refresh") return both.service.refresh(made.id, 0);
  if (act === "freeze") both.link.fate = (message, name) => (name === "f2" ? [flipped(message)] : "pass");
  return both.signing(made.id);
}

interface Kill {
  readonly act: Act;
  readonly party: Party;
  /** The number of the point at which it dies. */
  readonly at: number;
}

/** Null: the act has fewer points. */
async function killed({ act, party, at }: Kill): Promise<CustodyBench | null> {
  const both = await new CustodyBench({}, act === "creation" ? undefined : made.rows).up();
  let [point, isKilled] = [0, false];
  const mayDie = (): boolean => {
    if (isKilled || point++ !== at) return false;
    isKilled = true;
    both.kill(party);
    return true;
  };
  both.parties[party].onDurable = mayDie;
  const call = begun(both, act);
  const { fate } = both.link;
  both.link.fate = (message, name, from) => {
    const decided = fate(message, name, from);
    if (from !== party || isKilled) return decided;
    // It dies with the message, or right after the other side has it.
    if (mayDie()) return "drop";
    queueMicrotask(() => queueMicrotask(mayDie));
    return decided;
  };
  call.catch(() => {});
  for (let turn = 0; turn < 40 && !isKilled; turn++) await both.quiet();
  if (!isKilled) return null;
  both.link.fate = () => "pass";
  await both.restart(party);
  // A session of the other side that heard nothing of it, and what waits behind it.
  await both.pass(12_000);
  await both.meet();
  return both;
}

/** What is true afterwards, as a word for the counts. */
async function truth(both: CustodyBench, kill: Kill): Promise<string> {
  const name = JSON.stringify(kill);
  const rows = both.rows.map(storedRow);
  for (const each of both.rows) expect(each.wallets.size, name).toBeLessThanOrEqual(1);
  expect(rows[0]?.activeEpoch, name).toBe(rows[1]?.activeEpoch);
  const found = both.service.list(null, null, 10).wallets;
  if (found.length === 0) {
    expect(kill.act, name).toBe("creation");
    // The backup that an attempt left is no wallet that was lost.
    await both.restart(0);
    expect(both.service.status().lost, name).toBe(0);
    const again = await both.create("ada");
    expect(again, name).toMatchObject({ userId: "ada" });
    for (const each of both.rows) expect([each.wallets.size, walletRowsOf(each).length <= 1], name).toEqual([1, true]);
    assertOneRow(both, name);
    return "no wallet, then one";
  }
  assertOneRow(both, name);
  const [wallet] = found;
  expect(await both.create("ada"), name).toBe("WALLET_EXISTS");
  const signed = await both.sign(wallet?.walletId ?? "");
  if (signed === "WALLET_FROZEN") {
    expect(kill.act, name).toBe("freeze");
    expect(
      rows.map((row) => row?.status),
      name,
    ).toEqual(["frozen", "frozen"]);
    return "frozen";
  }
  expect(typeof signed === "string" ? signed : "signed", name).toBe("signed");
  // The check that failed is counted where its freeze is not there.
  if (kill.act === "freeze" && kill.party === 0 && rows[0]?.ctr !== 1n)
    expect(rows[0]?.openAborts, name).toBeGreaterThanOrEqual(1);
  return `signs at epoch ${rows[0]?.activeEpoch}`;
}

/** The wallet has one row in the audit log that says it was made, whatever came before it. */
function assertOneRow({ rows: [service] }: CustodyBench, name: string): void {
  const ends = namesOf(service, CREATION_NAMESPACE).map((key) =>
    decodeJson(service.beside.get(key) ?? Buffer.alloc(0)),
  );
  expect(ends.filter((end) => (end as { outcome: string }).outcome === "done").length, name).toBe(1);
}

function namesOf({ beside }: MemoryRows, namespace: string): string[] {
  return [...beside.keys()].filter((key) => key.startsWith(`${namespace}/`));
}

describe("a party that is killed anywhere in", () => {
  for (const act of ACTS)
    for (const party of [0, 1] as const)
      it(`a ${act}, party ${party}, leaves the truth behind`, async () => {
        let killedCount = 0;
        // Another start in each file's run of the short form would not be the same twice: it is the party.
        for (let at = party; at < 200; at += EVERY[act]) {
          const kill = { act, party, at };
          const both = await killed(kill);
          if (both === null) break;
          killedCount++;
          const found = `${act}: ${await truth(both, kill)}`;
          counts.set(found, (counts.get(found) ?? 0) + 1);
        }
        expect(killedCount).toBeGreaterThan(0);
      });
});
