;; Arithmetic on blocks of 16-bit floats: they are widened to float32, combined there, and rounded back, half to even.
;;
;; Two values of either type fit a float32 with room to spare, so that rounding its result once more gives the correctly
;; rounded one. Arguments are byte addresses of this module's memory; $end is where the last argument that is written, or
;; the only one that is read, ends. Blocks are multiples of eight elements. Assembled into half-kernel.ts.
(module
  (memory (export "memory") 1)

  ;; float32[$to] = float16[$from]
  (func (export "widen_float16") (param $from i32) (param $to i32) (param $end i32)
    (local $code v128) (local $bits v128) (local $rebased v128)
    (loop $next
      (local.set $code (v128.load16x4_u (local.get $from)))
      (local.set $bits (i32x4.shl (v128.and (local.get $code) (i32x4.splat (i32.const 0x7fff))) (i32.const 13)))
      (local.set $rebased (i32x4.add (local.get $bits) (i32x4.splat (i32.const 0x38000000))))
      (v128.store (local.get $to)
        (v128.or
          (i32x4.shl (v128.and (local.get $code) (i32x4.splat (i32.const 0x8000))) (i32.const 16))
          (v128.or
            ;; Infinities and NaNs get the largest exponent.
            (v128.and
              (i32x4.ge_s (local.get $bits) (i32x4.splat (i32.const 0x0f800000)))
              (i32x4.splat (i32.const 0x7f800000)))
            ;; Subnormal codes have no leading one: with one, and without its value again.
            (v128.bitselect
              (f32x4.sub
                (i32x4.add (local.get $rebased) (i32x4.splat (i32.const 0x00800000)))
                (i32x4.splat (i32.const 0x38800000)))
              (local.get $rebased)
              (i32x4.lt_s (local.get $bits) (i32x4.splat (i32.const 0x00800000)))))))
      (local.set $from (i32.add (local.get $from) (i32.const 8)))
      (local.set $to (i32.add (local.get $to) (i32.const 16)))
      (br_if $next (i32.lt_u (local.get $to) (local.get $end)))))

  ;; float32[$to] = bfloat16[$from]
  (func (export "widen_bfloat16") (param $from i32) (param $to i32) (param $end i32)
    (loop $next
      (v128.store (local.get $to) (i32x4.shl (v128.load16x4_u (local.get $from)) (i32.const 16)))
      (local.set $from (i32.add (local.get $from) (i32.const 8)))
      (local.set $to (i32.add (local.get $to) (i32.const 16)))
      (br_if $next (i32.lt_u (local.get $to) (local.get $end)))))

  ;; float16[$to] = float32[$from]
  (func (export "narrow_float16") (param $from i32) (param $to i32) (param $end i32)
    (local $word v128) (local $size v128) (local $code v128)
    (loop $next
      (local.set $word (v128.load (local.get $from)))
      (local.set $size (v128.and (local.get $word) (i32x4.splat (i32.const 0x7fffffff))))
      ;; Normal values: half of the last bit that stays, less one where that bit is even, carries where it must.
      (local.set $code
        (i32x4.shr_u
          (i32x4.add
            (i32x4.sub (local.get $size) (i32x4.splat (i32.const 0x37fff001)))
            (v128.and (i32x4.shr_u (local.get $size) (i32.const 13)) (i32x4.splat (i32.const 1))))
          (i32.const 13)))
      ;; Small ones: adding 0.5 moves the smallest step of float16 to the last bit of the float32, which rounds there.
      (local.set $code
        (v128.bitselect
          (i32x4.sub
            (f32x4.add (local.get $size) (i32x4.splat (i32.const 0x3f000000)))
            (i32x4.splat (i32.const 0x3f000000)))
          (local.get $code)
          (i32x4.lt_s (local.get $size) (i32x4.splat (i32.const 0x38800000)))))
      ;; Large ones, and NaN.
      (local.set $code
        (v128.bitselect
          (i32x4.splat (i32.const 0x7c00))
          (local.get $code)
          (i32x4.ge_s (local.get $size) (i32x4.splat (i32.const 0x47800000)))))
      (local.set $code
        (v128.bitselect
          (i32x4.splat (i32.const 0x7e00))
          (local.get $code)
          (i32x4.gt_s (local.get $size) (i32x4.splat (i32.const 0x7f800000)))))
      (local.set $code
        (v128.or
          (local.get $code)
          (v128.and (i32x4.shr_u (local.get $word) (i32.const 16)) (i32x4.splat (i32.const 0x8000)))))
      (v128.store64_lane 0 (local.get $to) (i16x8.narrow_i32x4_u (local.get $code) (local.get $code)))
      (local.set $from (i32.add (local.get $from) (i32.const 16)))
      (local.set $to (i32.add (local.get $to) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $to) (local.get $end)))))

  ;; bfloat16[$to] = float32[$from]
  (func (export "narrow_bfloat16") (param $from i32) (param $to i32) (param $end i32)
    (local $word v128) (local $high v128) (local $code v128)
    (loop $next
      (local.set $word (v128.load (local.get $from)))
      (local.set $high (i32x4.shr_u (local.get $word) (i32.const 16)))
      (local.set $code
        (v128.bitselect
          (v128.or
            (v128.and (local.get $high) (i32x4.splat (i32.const 0x8000)))
            (i32x4.splat (i32.const 0x7fc0)))
          (i32x4.shr_u
            (i32x4.add
              (i32x4.add (local.get $word) (i32x4.splat (i32.const 0x7fff)))
              (v128.and (local.get $high) (i32x4.splat (i32.const 1))))
            (i32.const 16))
          (f32x4.ne (local.get $word) (local.get $word))))
      (v128.store64_lane 0 (local.get $to) (i16x8.narrow_i32x4_u (local.get $code) (local.get $code)))
      (local.set $from (i32.add (local.get $from) (i32.const 16)))
      (local.set $to (i32.add (local.get $to) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $to) (local.get $end)))))

  ;; float32[$to] += float32[$from]
  (func (export "sum") (param $from i32) (param $to i32) (param $end i32)
    (loop $next
      (v128.store (local.get $to) (f32x4.add (v128.load (local.get $to)) (v128.load (local.get $from))))
      (local.set $from (i32.add (local.get $from) (i32.const 16)))
      (local.set $to (i32.add (local.get $to) (i32.const 16)))
      (br_if $next (i32.lt_u (local.get $to) (local.get $end)))))

  ;; float32[$to] *= float32[$from]
  (func (export "product") (param $from i32) (param $to i32) (param $end i32)
    (loop $next
      (v128.store (local.get $to) (f32x4.mul (v128.load (local.get $to)) (v128.load (local.get $from))))
      (local.set $from (i32.add (local.get $from) (i32.const 16)))
      (local.set $to (i32.add (local.get $to) (i32.const 16)))
      (br_if $next (i32.lt_u (local.get $to) (local.get $end)))))

  ;; float32[$to] /= $divisor
  (func (export "divide") (param $to i32) (param $end i32) (param $divisor f32)
    (loop $next
      (v128.store (local.get $to) (f32x4.div (v128.load (local.get $to)) (f32x4.splat (local.get $divisor))))
      (local.set $to (i32.add (local.get $to) (i32.const 16)))
      (br_if $next (i32.lt_u (local.get $to) (local.get $end)))))

  ;; float32[$to] = min(float32[$to], float32[$from]); NaN where one of them is, and -0 is less than 0
  (func (export "min") (param $from i32) (param $to i32) (param $end i32)
    (loop $next
      (v128.store (local.get $to) (f32x4.min (v128.load (local.get $to)) (v128.load (local.get $from))))
      (local.set $from (i32.add (local.get $from) (i32.const 16)))
      (local.set $to (i32.add (local.get $to) (i32.const 16)))
      (br_if $next (i32.lt_u (local.get $to) (local.get $end)))))

  ;; float32[$to] = max(float32[$to], float32[$from]); NaN where one of them is, and -0 is less than 0
  (func (export "max") (param $from i32) (param $to i32) (param $end i32)
    (loop $next
      (v128.store (local.get $to) (f32x4.max (v128.load (local.get $to)) (v128.load (local.get $from))))
      (local.set $from (i32.add (local.get $from) (i32.const 16)))
      (local.set $to (i32.add (local.get $to) (i32.const 16)))
      (br_if $next (i32.lt_u (local.get $to) (local.get $end)))))
)
