/** Who may call each operation: nothing is served without a decision about that. */
import { describe, expect, it } from "vitest";
import type { Operation } from "./operation.js";
import { OPERATIONS } from "./operations.js";

const operations = Object.values<Operation>(OPERATIONS);
/** Of what changes something and is no trade. */
const NOT_TRADE: Readonly<Record<string, string>> = {
  killSwitch: "admin",
  streamTicket: "read",
  walletCreate: "sign",
  walletSign: "sign",
  venueKeyRegister: "sign",
  venueKeyRotate: "sign",
  venueKeyRevoke: "sign",
  deposit: "transfer",
  venuetwoTransfer: "transfer",
  venuetwoWithdraw: "transfer",
  venueoneWithdraw: "transfer",
};
const idsOf = (scope: Operation["access"]["scope"]) =>
  operations.filter(({ access }) => access.scope === scope).map(({ id }) => id);

describe("the access of operations", () => {
  it("is part of every operation: without it the table does not compile", () => {
    // False where an operation may lack it: then this line does not compile.
    const isRequired: Omit<Operation, "access"> extends Operation ? false : true = true;
    expect(isRequired).toBe(true);
  });

  it("needs `trade` for what sends, changes or arms something, `sign` for wallets, and `admin` for the whole service", () => {
    const changing = operations.filter(({ method }) => method !== "GET");
    for (const { id, access } of changing) expect([id, access.scope]).toEqual([id, NOT_TRADE[id] ?? "trade"]);
    expect(idsOf("admin").sort()).toEqual(["killSwitch", "killSwitchStatus", "metrics"]);
  });

  it("is open to everyone for market data, the dry run over public books and what supervisors ask", () => {
    const open = new Set(idsOf("open"));
    for (const { id, tag } of operations) if (tag === "market data") expect([id, open.has(id)]).toEqual([id, true]);
    const others = operations.filter(({ id, tag }) => open.has(id) && tag !== "market data").map(({ id }) => id);
    expect(others).toEqual([
      "routingDryRun",
      "historyTicks",
      "historyTrades",
      "historyCandles",
      "status",
      "time",
      "health",
      "ready",
      "openapi",
      "asyncapi",
    ]);
  });

  it("names the accounts of a request, or one thing of the owner, wherever `trade` is needed", () => {
    for (const { id, access } of operations)
      if (access.scope === "trade")
        expect([id, access.owner]).toEqual([
          id,
          id.startsWith("deadMan") && id !== "deadMan" ? "named" : "credentials",
        ]);
  });
});
