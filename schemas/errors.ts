/**
 * The error envelope of every refusal. `error` is the exact text of the interface specification where it
 * gives one; programs branch on `code`.
 */
import { type Static, Type } from "@sinclair/typebox";
import { timeMs } from "./common.js";

/** One wrong field: dotted path (`routingOptions.maxLegs`, header or query name) and what is wrong, never its value. */
export const fieldProblemSchema = Type.Object({ path: Type.String(), problem: Type.String() });
export type FieldProblem = Static<typeof fieldProblemSchema>;

export const errorReplySchema = Type.Object(
  {
    success: Type.Literal(false),
    error: Type.String({ minLength: 1, description: "For people." }),
    code: Type.String({ pattern: "^[A-Z][A-Z0-9_]+$", description: "For programs; stable." }),
    details: Type.Unsafe<Readonly<Record<string, unknown>>>({
      type: "object",
      additionalProperties: true,
      description: "Depends on the code; `fields: [{path, problem}]` on 400s about parameters.",
    }),
    requestId: Type.String({ description: "Also the X-Request-Id header." }),
    timestamp: timeMs,
  },
  { $id: "ErrorReply", additionalProperties: false },
);
export type ErrorReply = Static<typeof errorReplySchema>;
