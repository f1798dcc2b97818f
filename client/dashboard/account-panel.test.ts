/** What the account panel shows after each reply to a cancel. The elements are plain objects. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type FakeDocument, type FakeNode, installDocument } from "../test/fake-document.js";
import { pageCalls } from "../test/page-calls.js";
import type { AccountBoard } from "./account.js";
import { AccountPanel } from "./account-panel.js";
import type { Board } from "./board.js";

const ORDER = {
  exchange: "venueone",
  symbol: "BTC",
  orderId: "7",
  side: "SELL",
  type: "LIMIT",
  quantity: "0.5",
  price: "91000",
};
const ACCOUNT = {
  account: { walletAddress: "0x1", credentials: {}, isDemo: false },
  positions: null,
  orders: { topic: "orders", symbol: "", orders: new Map([["a", ORDER]]), coverage: new Map(), event: null },
  serverMs: 0,
  isCurrent: true,
  refusal: "",
};

let page: FakeDocument;
let said: string[];

beforeEach(() => {
  page = installDocument();
  said = [];
});
afterEach(() => {
  vi.unstubAllGlobals();
});

/** Presses the button of the only order; null: the connection breaks. */
async function cancel(reply: object | null): Promise<FakeNode> {
  const board = { instruments: [] } as unknown as Board;
  const account = ACCOUNT as unknown as AccountBoard;
  new AccountPanel(
    board,
    account,
    pageCalls(() => reply),
    (text) => said.push(text),
    () => {},
  ).draw();
  const button = page.node("#orders").children[0]?.children.at(-1)?.children[0];
  if (button === undefined) throw new Error("no order is shown");
  button.onclick?.();
  await page.settled();
  return button;
}

describe("a cancel from the page", () => {
  it("is shown as refused where the service refuses it", async () => {
    const button = await cancel({ success: false, code: "ORDER_NOT_OPEN", error: "Order 7 is not open" });
    expect(said).toEqual(["SELL BTC of venueone was not canceled: Order 7 is not open"]);
    expect([button.textContent, button.disabled]).toEqual(["Cancel", false]);
  });

  it("may have happened where no reply came, and can be requested again", async () => {
    const button = await cancel(null);
    expect(said.join()).not.toContain("was not canceled");
    expect(said.join()).toContain("may have been canceled");
    expect([button.textContent, button.disabled]).toEqual(["Cancel", false]);
  });

  it("is over where the venue canceled the order", async () => {
    const button = await cancel({ success: true, data: { status: "CANCELED" } });
    expect([button.textContent, button.disabled]).toEqual(["Canceled", true]);
  });

  it.each(["SUBMITTED", "UNKNOWN"])(
    "can be requested again while the order is %s, since it may still rest",
    async (status) => {
      const button = await cancel({ success: true, data: { status } });
      expect(said).toEqual([`SELL BTC of venueone: ${status.toLowerCase()}`]);
      expect([button.textContent, button.disabled]).toEqual(["Cancel", false]);
    },
  );
});
