import { createMemoryStore } from "./memory-store.js";
import { describeStateStore } from "./state-store.contract.js";

describeStateStore("the in-memory store of the tests", async () => ({
  store: createMemoryStore(),
  reopen: null,
  dispose: async () => {},
}));
