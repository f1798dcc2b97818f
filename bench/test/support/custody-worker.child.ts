/** The thread of the service's sessions as the memory test runs it: it writes its draws down and collects when told. */
import { BroadcastChannel, getEnvironmentData } from "node:worker_threads";
import { ownHeap, writeDraws } from "./watched-party.js";

writeDraws(getEnvironmentData("custody-draws") as string);
const heap = ownHeap();
const channel = new BroadcastChannel("custody-memory");
channel.onmessage = ({ data }) => {
  if (data === "fill") heap.fill();
  else heap.collect();
  channel.postMessage("done");
};
channel.unref();
await import("../../../gateway/children/custody.worker.js");
