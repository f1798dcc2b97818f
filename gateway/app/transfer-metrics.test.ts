/** Figures of money that moves: what a start finds under way, what ended since, and labels that no caller can add to. */
import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { TransferWorld } from "../../engine/transfers/test/transfer-world.js";
import { addTransferMetrics, type MoneyFigures } from "./money-metrics.js";

const ENDPOINTS = [
  { place: 1, state: "proven", head: 41, failedCount: 2, malformedCount: 1 },
  { place: 2, state: "silent", head: null, failedCount: 0, malformedCount: 0 },
];

const reconciled = () => ({ isRunning: false, last: null, problem: null });

async function linesOf(money: MoneyFigures): Promise<string[]> {
  const registry = new Registry();
  addTransferMetrics(registry, money);
  return (await registry.metrics()).split("\n").filter((line) => /^unwind_(transfers|chain)/.test(line));
}

it("Transfers are counted by state: those under way over restarts, those that ended since the start", async () => {
  const world = new TransferWorld();
  const life = await world.live();
  await world.answered(life, life.transfers.move(world.internal("70", "a")));
  world.listed.weather = () => "lost";
  await world.answered(life, life.transfers.move(world.internal("71", "b")));
  const figures = (of: typeof life) => ({ counts: () => of.keeper.counts(), chainStatus: () => [], reconciled });
  const unknown = 'unwind_transfers{venue="venuetwo",kind="internal",state="unknown"} 1';
  expect((await linesOf(figures(life))).sort()).toEqual([
    'unwind_transfers{venue="venuetwo",kind="internal",state="confirmed"} 1',
    unknown,
  ]);
  expect(await linesOf(figures(await world.live()))).toEqual([unknown]);
});

it("Endpoints of chains are named by their place alone, never by their URL", async () => {
  const lines = await linesOf({
    counts: () => [],
    chainStatus: () => [{ chainId: 56, endpoints: ENDPOINTS }],
    reconciled,
  });
  expect(lines).toEqual([
    'unwind_chain_endpoint_ready{chain="56",endpoint="1"} 1',
    'unwind_chain_endpoint_ready{chain="56",endpoint="2"} 0',
    'unwind_chain_endpoint_height{chain="56",endpoint="1"} 41',
    'unwind_chain_endpoint_height{chain="56",endpoint="2"} 0',
    'unwind_chain_endpoint_failures{chain="56",endpoint="1"} 2',
    'unwind_chain_endpoint_failures{chain="56",endpoint="2"} 0',
    'unwind_chain_endpoint_malformed{chain="56",endpoint="1"} 1',
    'unwind_chain_endpoint_malformed{chain="56",endpoint="2"} 0',
  ]);
});

it("What a comparison did not ask for has a figure of its own, and none before the first has ended", async () => {
  const figure = async (last: object | null) => {
    const registry = new Registry();
    const view = { isRunning: false, last, problem: null } as ReturnType<MoneyFigures["reconciled"]>;
    addTransferMetrics(registry, { counts: () => [], chainStatus: () => [], reconciled: () => view });
    return (await registry.metrics()).split("\n").filter((line) => line.startsWith("unwind_reconcile_uncompared "));
  };
  expect(await figure(null)).toEqual(["unwind_reconcile_uncompared -1"]);
  const last = { differenceCounts: {}, unreadCount: 0, uncomparedCount: 12, endedAtMs: 0 };
  expect(await figure(last)).toEqual(["unwind_reconcile_uncompared 12"]);
});
