/** What the sockets of one kind come to together, for a room's status. */
import type { SocketStats } from "./socket-options.js";

export interface SocketCounts {
  readonly socketCount: number;
  readonly openCount: number;
  readonly reconnectCount: number;
  readonly silentCount: number;
  readonly handlerErrorCount: number;
}

export function countSockets(sockets: Iterable<SocketStats>): SocketCounts {
  const counts = { socketCount: 0, openCount: 0, reconnectCount: 0, silentCount: 0, handlerErrorCount: 0 };
  for (const socket of sockets) {
    counts.socketCount++;
    if (socket.state === "open") counts.openCount++;
    counts.reconnectCount += socket.reconnectCount;
    counts.silentCount += socket.silentCount;
    counts.handlerErrorCount += socket.handlerErrorCount;
  }
  return counts;
}
