/** Actions that need a typed word, while an earlier one is still under way. The elements are plain objects. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type FakeDocument, installDocument } from "../test/fake-document.js";
import { pageCalls } from "../test/page-calls.js";
import type { AccountBoard } from "./account.js";
import { TypedDialog } from "./typed-dialog.js";

const ACCOUNT = { account: { walletAddress: "0x1", credentials: {}, isDemo: false } } as unknown as AccountBoard;
const CLOSED = {
  success: true,
  data: {
    success: true,
    venues: [{ exchange: "venueone", state: "COMPLETED", closedCount: 2, totalPositions: 2, error: null }],
  },
};
const SWITCH = { success: true, data: { active: false, halts: [] } };

let page: FakeDocument;
let sent: string[];
let answerClose: (reply: object) => void;

beforeEach(() => {
  page = installDocument();
  sent = [];
  const closed = new Promise<object>((resolve) => {
    answerClose = resolve;
  });
  const calls = pageCalls(({ method, path, body: { dryRun, active } }) => {
    const isClose = path === "/api/trade/close-all";
    if (method === "POST" && dryRun !== true) sent.push(isClose ? "close all" : `switch ${String(active)}`);
    return !isClose ? SWITCH : dryRun === true ? CLOSED : closed;
  });
  new TypedDialog(ACCOUNT, calls);
});
afterEach(() => {
  vi.unstubAllGlobals();
});

async function type(opener: string, word: string): Promise<void> {
  page.press(opener);
  await page.settled();
  page.node("#typed-text").value = word;
  page.node("#typed-text").dispatch("input");
  if (!page.node("#typed-go").disabled) page.node("#typed-form").dispatch("submit");
  await page.settled();
}

const said = () => page.node("#typed-said").textContent;

describe("the kill switch", () => {
  it("does not wait for a close of everything that is under way", async () => {
    await type("#close-all", "CLOSE ALL");
    page.press("#typed-leave");
    await type("#kill-switch", "STOP");
    expect(sent).toEqual(["close all", "switch true"]);
  });

  it("neither ends nor shows a result by the outcome of a close of everything meanwhile", async () => {
    await type("#close-all", "CLOSE ALL");
    page.press("#typed-leave");
    await type("#kill-switch", "ST");
    answerClose(CLOSED);
    await page.settled();
    expect(said()).toBe("");
    page.node("#typed-text").value = "STOP";
    page.node("#typed-form").dispatch("submit");
    await page.settled();
    expect(sent).toEqual(["close all", "switch true"]);
  });
});

describe("a close of everything", () => {
  it("is sent once, however often its word is typed while it is under way", async () => {
    await type("#close-all", "CLOSE ALL");
    page.node("#typed-form").dispatch("submit");
    await page.settled();
    expect([sent, page.node("#typed-go").disabled]).toEqual([["close all"], true]);
    answerClose(CLOSED);
    await page.settled();
    expect(said()).toBe("venueone completed (2 of 2).");
  });
});
