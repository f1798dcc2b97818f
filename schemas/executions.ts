/** `GET /api/trade/executions/{routeId}`: what became of one close; the same data as the close reply, current. */
import { Type } from "@sinclair/typebox";
import { closeDataSchema } from "./close.js";
import { reply, timeMs } from "./common.js";

export const executionReplySchema = reply(
  { success: Type.Literal(true), data: closeDataSchema, timestamp: timeMs },
  { $id: "ExecutionReply" },
);
