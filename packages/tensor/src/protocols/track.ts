/**
 * @file `track`: objects whose attributes a tracer guards.
 *
 * Modules, optimizers and schedulers are tracked; anything else can be registered. Of a tracked object
 * a tracer guards the primitive attributes, and follows arrays, plain records, Maps, tensors and other
 * tracked objects. Functions and names that start with an underscore are not followed.
 */

const trackedClasses = new WeakSet<object>();
const trackedObjects = new WeakSet<object>();

/** Registers one object; returns it. */
export function track<T extends object>(object: T): T {
  trackedObjects.add(object);
  return object;
}

/** Registers every instance of a class and of its subclasses. */
export function trackClass(constructor: abstract new (...args: never[]) => object): void {
  trackedClasses.add(constructor.prototype);
}

/** Whether an object is tracked, by itself or by its class. */
export function isTracked(object: object): boolean {
  if (trackedObjects.has(object)) return true;
  for (
    let p: object | null = Object.getPrototypeOf(object);
    p !== null;
    p = Object.getPrototypeOf(p)
  ) {
    if (trackedClasses.has(p)) return true;
  }
  return false;
}
