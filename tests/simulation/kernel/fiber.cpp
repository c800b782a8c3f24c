// glibc's checked longjmp refuses to jump between stacks, which is all that we do with it.
#undef _FORTIFY_SOURCE
#include "simulation/kernel/fiber.hpp"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <csetjmp>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/assert.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SECKILL_ASAN 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if __has_feature(thread_sanitizer)
#define SECKILL_TSAN 1
#include <sanitizer/tsan_interface.h>
#endif
#endif

namespace __cxxabiv1 {
// What the C++ ABI keeps of exceptions in flight, a thread: each fiber needs its own.
struct __cxa_eh_globals;
extern "C" __cxa_eh_globals* __cxa_get_globals() noexcept;
}  // namespace __cxxabiv1

namespace seckill::sim {
namespace {

// The first two words of the ABI's record (Itanium C++ ABI, 2.2.2): caught exceptions and the count of uncaught ones.
struct ExceptionState {
  void* caught = nullptr;
  unsigned uncaught = 0;
};

void swap_exception_state(ExceptionState& own) noexcept {
  ExceptionState present;
  void* globals = __cxxabiv1::__cxa_get_globals();
  std::memcpy(&present, globals, sizeof present);
  std::memcpy(globals, &own, sizeof own);
  own = present;
}

class Stacks {
 public:
  ~Stacks() {
    for (void* stack : spare_) ::munmap(stack, Fiber::stack_bytes);
  }
  void* take() {
    if (!spare_.empty()) return std::exchange(spare_.back(), (spare_.pop_back(), nullptr));
    void* made = ::mmap(nullptr, Fiber::stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SECKILL_ASSERT(made != MAP_FAILED, "there is memory for a fiber's stack");
    const int guarded = ::mprotect(made, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), PROT_NONE);
    SECKILL_ASSERT(guarded == 0, "a stack has its guard page");
    return made;
  }
  void give_back(void* stack) { spare_.push_back(stack); }

 private:
  std::vector<void*> spare_;
};

Stacks& stacks() {
  static Stacks kept;
  return kept;
}

}  // namespace

struct Fiber::Context {
  void* stack = nullptr;
  ucontext_t own{};
  ucontext_t resumer{};
  ExceptionState exceptions;  // of whichever side is not running
#if !defined(SECKILL_ASAN) && !defined(SECKILL_TSAN)
  // After the first entry we jump: swapcontext would make two system calls a switch, to keep a signal mask nobody uses.
  std::jmp_buf own_place{};
  std::jmp_buf resumer_place{};
#endif
#ifdef SECKILL_ASAN
  void* own_fake_stack = nullptr;
  void* resumer_fake_stack = nullptr;
  const void* resumer_stack = nullptr;
  std::size_t resumer_stack_bytes = 0;
#endif
#ifdef SECKILL_TSAN
  void* own_tsan = nullptr;
  void* resumer_tsan = nullptr;
#endif
};

Fiber::Fiber(std::move_only_function<void()> body) : body_{std::move(body)}, context_{std::make_unique<Context>()} {}

Fiber::~Fiber() {
  SECKILL_ASSERT(!started_ || finished_, "a fiber is unwound before it is destroyed");
  if (context_->stack != nullptr) stacks().give_back(context_->stack);
#ifdef SECKILL_TSAN
  if (context_->own_tsan != nullptr) __tsan_destroy_fiber(context_->own_tsan);
#endif
}

void Fiber::enter(unsigned low, unsigned high) {
  const std::uint64_t address = (std::uint64_t{high} << 32) | low;
  reinterpret_cast<Fiber*>(static_cast<std::uintptr_t>(address))->run();  // NOLINT: makecontext passes int only
}

void Fiber::run() {
#ifdef SECKILL_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &context_->resumer_stack, &context_->resumer_stack_bytes);
#endif
  body_();
  body_ = nullptr;
  finished_ = true;
  suspend();
  std::abort();  // a finished fiber is not resumed
}

void Fiber::resume() {
  SECKILL_ASSERT(!finished_, "a finished fiber is not resumed");
  Context& context = *context_;
  const bool first = !std::exchange(started_, true);
  if (first) {
    context.stack = stacks().take();
#ifdef SECKILL_ASAN
    // What an earlier fiber left poisoned when it never returned from its first frame.
    __asan_unpoison_memory_region(context.stack, stack_bytes);
#endif
#ifdef SECKILL_TSAN
    context.own_tsan = __tsan_create_fiber(0);
#endif
    ::getcontext(&context.own);
    context.own.uc_stack.ss_sp = context.stack;
    context.own.uc_stack.ss_size = stack_bytes;
    context.own.uc_link = nullptr;
    const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(this));
    ::makecontext(&context.own, reinterpret_cast<void (*)()>(&Fiber::enter), 2, static_cast<unsigned>(address),
                  static_cast<unsigned>(address >> 32));
  }
  swap_exception_state(context.exceptions);
#if defined(SECKILL_ASAN)
  __sanitizer_start_switch_fiber(&context.resumer_fake_stack, context.stack, stack_bytes);
  ::swapcontext(&context.resumer, &context.own);
  __sanitizer_finish_switch_fiber(context.resumer_fake_stack, nullptr, nullptr);
#elif defined(SECKILL_TSAN)
  context.resumer_tsan = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(context.own_tsan, 0);
  ::swapcontext(&context.resumer, &context.own);
#else
  if (_setjmp(context.resumer_place) == 0) {
    if (first) ::setcontext(&context.own);
    std::longjmp(context.own_place, 1);
  }
#endif
  swap_exception_state(context_->exceptions);
}

void Fiber::suspend() {
  Context& context = *context_;
#if defined(SECKILL_ASAN)
  // A null pointer: this fiber does not come back, its fake stack may go.
  __sanitizer_start_switch_fiber(finished_ ? nullptr : &context.own_fake_stack, context.resumer_stack,
                                 context.resumer_stack_bytes);
  ::swapcontext(&context.own, &context.resumer);
  __sanitizer_finish_switch_fiber(context.own_fake_stack, &context.resumer_stack, &context.resumer_stack_bytes);
#elif defined(SECKILL_TSAN)
  __tsan_switch_to_fiber(context.resumer_tsan, 0);
  ::swapcontext(&context.own, &context.resumer);
#else
  if (_setjmp(context.own_place) == 0) std::longjmp(context.resumer_place, 1);
#endif
}

}  // namespace seckill::sim
