/**
 * @file Identifiers of generated WGSL: the kernel's own names where WGSL allows them, numbered ones for
 * temporaries, never one twice.
 */

/** Keywords, reserved words, and predeclared names that generated code uses (WGSL §16, §17). */
const TAKEN: ReadonlySet<string> = new Set(
  `alias break case const const_assert continue continuing default diagnostic discard else enable false
  fn for if let loop override requires return struct switch true var while
  NULL Self abstract active alignas alignof as asm asm_fragment async attribute auto await become cast
  catch class co_await co_return co_yield coherent column_major common compile compile_fragment concept
  const_cast consteval constexpr constinit crate debugger decltype delete demote demote_to_helper do
  dynamic_cast enum explicit export extends extern external fallthrough filter final finally friend from
  fxgroup get goto groupshared highp impl implements import inline instanceof interface layout lowp macro
  macro_rules match mediump meta mod module move mut mutable namespace new nil noexcept noinline
  nointerpolation non_coherent noncoherent noperspective null nullptr of operator package packoffset
  partition pass patch pixelfragment precise precision premerge priv protected pub public readonly ref
  regardless register reinterpret_cast require resource restrict self set shared sizeof smooth snorm
  static static_assert static_cast std subroutine super target template this thread_local throw trait try
  type typedef typeid typename typeof union unless unorm unsafe unsized use using varying virtual volatile
  wgsl where with writeonly yield
  bool f16 f32 i32 u32 vec2u vec3u vec4f vec4h vec4i vec4u vec4 array atomic ptr
  abs all any bitcast ceil clamp countLeadingZeros dot exp exp2 floor fma inverseSqrt log max min round
  select sign sqrt step trunc workgroupBarrier subgroupShuffleXor subgroupAdd
  main group lane point part inside nearest group_rest patch_along patch_across batch tile row column slice step kk half first_m first_n along depth
  down product load_a load_b store_c uniforms Uniforms subgroup_size inf_bits nan_bits TWO_OVER_PI`.split(
    /\s+/,
  ),
);

/** Hands out identifiers; see the file header. */
export class NameScope {
  private readonly used = new Set<string>();
  private readonly counters = new Map<string, number>();

  /** An identifier as close to `wanted` as possible. */
  claim(wanted: string): string {
    let name = wanted.startsWith('__') || wanted === '_' ? `v${wanted}` : wanted;
    while (TAKEN.has(name) || this.used.has(name)) name += '_';
    this.used.add(name);
    return name;
  }

  /** A new temporary: `t0`, `t1`, … */
  fresh(prefix: string): string {
    for (;;) {
      const count = this.counters.get(prefix) ?? 0;
      this.counters.set(prefix, count + 1);
      const name = `${prefix}${count}`;
      if (!this.used.has(name)) {
        this.used.add(name);
        return name;
      }
    }
  }
}

/** A name that nothing in a list has, as close to `wanted` as possible. */
export function unusedName(taken: readonly { readonly name: string }[], wanted: string): string {
  let name = wanted;
  while (taken.some((other) => other.name === name)) name += '_';
  return name;
}
