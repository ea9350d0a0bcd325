// workgroups: 1 × 1

struct Uniforms {
  mu_: f32,
  lr_: f32,
  p_offset: u32,
  g_offset: u32,
  m_offset: u32,
}
@group(1) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(0) var<storage, read_write> p: array<f32>;
@group(0) @binding(1) var<storage, read_write> m: array<f32>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let point = group.x * 256u + lane;
  if (point >= 64u) { return; }
  let i0 = point * 4u;
  let x0 = i0 + uniforms.g_offset;
  let t0 = vec4f(p[x0], p[x0 + 1u], p[x0 + 2u], p[x0 + 3u]);
  let x1 = i0 + uniforms.m_offset;
  let t1 = vec4f(m[x1], m[x1 + 1u], m[x1 + 2u], m[x1 + 3u]);
  let t2 = ((vec4f(uniforms.mu_) * t1) + t0);
  let t3 = t2;
  let x2 = i0 + uniforms.m_offset;
  m[x2] = t3.x;
  m[x2 + 1u] = t3.y;
  m[x2 + 2u] = t3.z;
  m[x2 + 3u] = t3.w;
  let x3 = i0 + uniforms.p_offset;
  let t4 = vec4f(p[x3], p[x3 + 1u], p[x3 + 2u], p[x3 + 3u]);
  let t5 = (t4 - (vec4f(uniforms.lr_) * t2));
  let x4 = i0 + uniforms.p_offset;
  p[x4] = t5.x;
  p[x4 + 1u] = t5.y;
  p[x4 + 2u] = t5.z;
  p[x4 + 3u] = t5.w;
}
