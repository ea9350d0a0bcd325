/**
 * What the standard declaration lacks: `Array.isArray` also tells a readonly array from what is
 * none, and the parts of an unknown one are unknown, not `any`.
 */
interface ArrayConstructor {
  isArray(value: unknown): value is readonly unknown[];
}
