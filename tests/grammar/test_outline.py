"""Outlines: functions, tests, empty and skipped ones, in real sources of every language."""

import pytest

from keisei.grammar.outline import MOST_BYTES, MOST_FUNCTIONS, NAME, outline


def seen(path, text):
    """Name, first and last line of every function."""
    told = outline(path, text.encode())
    assert told.fault is None
    return [f"{each.name} {each.start}-{each.end}" for each in told.functions]


def marks(path, text):
    """Of the first test of a source: `e` where it is empty, `s` where it is skipped; None where there is no test."""
    told = outline(path, text.encode())
    assert told.fault is None
    tests = [each for each in told.functions if each.test]
    return "e" * tests[0].empty + "s" * tests[0].skipped if tests else None


PYTHON = '''\
import functools


class Cart:
    """A cart."""

    @functools.cache
    def total(self):
        def price(item):
            return item.price

        return sum(map(price, self))

    @property
    async def slow(
        self,
    ) -> int:
        return await self.x

    class Line:
        def size(self): return 1


double = lambda x: (
    x * 2
)
key = sorted(x, key=lambda each: each.name)

if True:
    def late():
        pass
# the end
'''

RUST = """\
//! Cart.
pub mod cart {
    impl<T: Fn() -> u8> Total for Cart<T> {
        /// Adds up.
        #[inline]
        pub async fn total(&self) -> u8 {
            let price = |x: u8| {
                x + 1
            };
            self.items.iter().map(|x| price(*x)).sum()
        }
    }
    trait Total {
        fn total(&self) -> u8;
        fn twice(&self) -> u8 { 2 }
    }
}
const fn one() -> u8 { 1 }
"""

GO = """\
package cart

// Total adds up.
func (c *Cart[T]) Total() int {
	price := func(x int) int {
		return x
	}
	go func() { c.log() }()
	return price(1)
}

func (Cart[T]) Name() string { return "" }

func New() *Cart[int] { return nil }

var hook = func() {
}
"""

JAVASCRIPT = """\
function plain(a) { return a }
async function* many() {
  yield 1;
}
const arrow = async (a) => {
  return a;
};
class Cart {
  #price = () => 1;
  static get size() { return 1 }
  constructor() { }
}
const table = { first() { }, second: function () { }, third: () => 1 };
module.exports.load = function () { };
list.map((x) => x + 1);
(function () { const hidden = 1; })();
(() => { })();
export default () => { };
"""

TYPESCRIPT = """\
namespace shop {
  export abstract class Cart<T> {
    abstract price(): number;
    @log()
    total(this: Cart<T>): number {
      return 1;
    }
    private handler = async (e: Event): Promise<void> => { };
  }
  export function of<T>(x: T): T;
  export function of(x: unknown) { return x }
}
interface Shape { area(): number }
const wrapped = memo(() => {
  return 1;
});
"""

TSX = """\
export const List = ({ items }: Props) => {
  return <ul onClick={() => go(1)}>{items.map((x) => <li>{x}</li>)}</ul>;
};
"""

JAVA = """\
package shop;

public class Cart {
  public Cart() { }

  /** Adds up. */
  @Override
  @Deprecated(since = "1")
  public int total() {
    Runnable r = () -> { go(); };
    return new Sum() { int add() { return 1; } }.add();
  }
  interface Line { int size(); default int twice() { return 2; } }
  record Point(int x) { Point { } }
  enum Kind { A; int code() { return 1; } }
}
"""

C = """\
#include <stdio.h>
/* adds */
static int *
total(struct cart *c)
{
  return 0;
}
int declared(int a);
int (*pick(void))(int) { return 0; }
int main(int argc, char **argv) { return 0; }
"""

CPP = """\
namespace shop {
class Cart {
 public:
  Cart() : size_(0) {}
  int total() const { return 1; }
  [[nodiscard]]
  int size() { return size_; }
};
template <typename T>
T &Box<T>::get() {
  auto first = [this](int x) { return x; };
  return first(1);
}
Cart::~Cart() = default;
bool operator==(const Cart &a, const Cart &b) { return true; }
}  // namespace shop
class EXPORT Widget { int a; };
"""

RUBY = """\
module Shop
  class Cart < Base
    def total(tax: 1)
      items.sum { |x| x.price }
    end
    def self.load = new
    double = ->(x) { x * 2 }
    triple = lambda do |x|
      x * 3
    end
  end
end
"""


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        pytest.param(
            "a.py",
            PYTHON,
            [
                "Cart.total 8-12",
                "Cart.total.price 9-10",
                "Cart.slow 15-18",
                "Cart.Line.size 21-21",
                "double 24-26",
                "late 30-31",
            ],
            id="python",
        ),
        pytest.param(
            "a.rs",
            RUST,
            [
                "cart.Cart.total 6-11",
                "cart.Cart.total.price 7-9",
                "cart.Cart.total.<closure> 10-10",
                "cart.Total.twice 15-15",
                "one 18-18",
            ],
            id="rust",
        ),
        pytest.param(
            "a.go",
            GO,
            [
                "Cart.Total 4-10",
                "Cart.Total.price 5-7",
                "Cart.Total.<function> 8-8",
                "Cart.Name 12-12",
                "New 14-14",
                "hook 16-17",
            ],
            id="go",
        ),
        pytest.param(
            "a.mjs",
            JAVASCRIPT,
            [
                "plain 1-1",
                "many 2-4",
                "arrow 5-7",
                "Cart.#price 9-9",
                "Cart.size 10-10",
                "Cart.constructor 11-11",
                "first 13-13",
                "second 13-13",
                "third 13-13",
                "module.exports.load 14-14",
                "<function> 15-15",
                "default 18-18",
            ],
            id="javascript",
        ),
        pytest.param(
            "a.ts",
            TYPESCRIPT,
            ["shop.Cart.total 5-7", "shop.Cart.handler 8-8", "shop.of 11-11", "wrapped 14-16"],
            id="typescript",
        ),
        pytest.param("a.tsx", TSX, ["List 1-3", "List.<function> 2-2", "List.<function> 2-2"], id="tsx"),
        pytest.param(
            "Cart.java",
            JAVA,
            [
                "Cart.Cart 4-4",
                "Cart.total 9-12",
                "Cart.total.r 10-10",
                "Cart.total.add 11-11",
                "Cart.Line.twice 13-13",
                "Cart.Point.Point 14-14",
                "Cart.Kind.code 15-15",
            ],
            id="java",
        ),
        pytest.param("a.c", C, ["total 3-7", "(*pick(void)) 9-9", "main 10-10"], id="c"),
        pytest.param(
            "a.cpp",
            CPP,
            [
                "shop.Cart.Cart 4-4",
                "shop.Cart.total 5-5",
                "shop.Cart.size 7-7",
                "shop.Box.get 10-13",
                "shop.Box.get.first 11-11",
                "shop.Cart.~Cart 14-14",
                "shop.operator== 15-15",
            ],
            id="cpp",
        ),
        pytest.param(
            "a.rb",
            RUBY,
            ["Shop.Cart.total 3-5", "Shop.Cart.load 6-6", "Shop.Cart.double 7-7", "Shop.Cart.triple 8-10"],
            id="ruby",
        ),
    ],
)
def test_functions_are_found_with_their_lines(path, text, expected):
    assert seen(path, text) == expected


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        pytest.param(
            "tests/test_a.py",
            "def test_a():\n    f()\n\nclass TestB:\n    def test_c(self): f()\n    def helper(self): pass\n"
            "class Other:\n    def test_d(self): f()\n\nasync def test_e():\n    def test_inner(): f()\n    await f()\n"
            "@pytest.mark.parametrize('x', [1])\ndef test_f(x): assert x\n",
            ["test_a", "TestB.test_c", "test_e", "test_f"],
            id="pytest",
        ),
        pytest.param("src/a.py", "def test_connection(): f()\n", [], id="not-in-a-test-file"),
        pytest.param(
            "src/a.py", "class A(unittest.TestCase):\n    def test_x(self): f()\n", ["A.test_x"], id="unittest-anywhere"
        ),
        pytest.param(
            "src/a.rs",
            'mod tests {\n#[test]\nfn a() { f(); }\n/// doc\n#[tokio::test(flavor = "x")]\nasync fn b() { f(); }\n'
            "#[rstest]\n#[case(1)]\nfn c(x: u8) { f(x); }\n#[inline]\nfn test_d() {}\n}\n",
            ["tests.a", "tests.b", "tests.c"],
            id="rust",
        ),
        pytest.param(
            "a_test.go",
            "package a\nfunc TestA(t *testing.T) { t.Run(`sub one`, func(t *testing.T) { f() }) }\n"
            "func FuzzB(f *testing.F) { f.Add(g()) }\nfunc BenchmarkC(b *testing.B) { }\n"
            "func Testify(t *testing.T) {}\nfunc TestHelper() {}\n",
            ["TestA", "TestA > sub one", "FuzzB", "BenchmarkC"],
            id="go",
        ),
        pytest.param("a.go", "package a\nfunc TestA(t *testing.T) { f() }\n", [], id="go-not-in-a-test-file"),
        pytest.param(
            "a.test.ts",
            "describe('Cart', () => { describe(\"sum\", function () { it(`adds`, async () => { f() }) })\n"
            "test.each([1])('each %i', (x) => { f(x) })\ntest.each`a|b`('tagged', () => { f() })\n"
            "it('else', helper) })\nDeno.test('deno', () => { f() });\nt.test('sub', (t) => { f() });\n"
            "regexp.test('no');\nexpect(1).it('no');\n",
            ["Cart > sum > adds", "Cart > each %i", "Cart > tagged", "Cart > else", "deno", "sub"],
            id="script",
        ),
        pytest.param(
            "ATest.java",
            "class A { @Test void a() { f(); } @ParameterizedTest @ValueSource(ints = 1) void b(int x) { f(); }\n"
            "@org.junit.Test public void c() { f(); } @Testable void d() { } void testE() { } }\n"
            "class Old extends TestCase { public void testF() { f(); } }\n",
            ["A.a", "A.b", "A.c", "Old.testF"],
            id="java",
        ),
        pytest.param(
            "a_test.cc",
            "TEST(Cart, Adds) { f(); }\nTEST_F(Fix, Works) { f(); }\nTYPED_TEST(T, X) { f(); }\n"
            'TEST_CASE("adds up", "[cart]") { REQUIRE(f() == 1); }\nBOOST_AUTO_TEST_CASE(boosted) { f(); }\n'
            "int TESTS(int a) { return 1; }\n",
            ["Cart.Adds", "Fix.Works", "T.X", "adds up", "boosted"],
            id="cpp",
        ),
        pytest.param("test/test_a.c", "void test_a(void) { f(); }\nint main(void) { f(); }\n", ["test_a"], id="c"),
        pytest.param(
            "test/a_test.rb",
            "class ATest < Minitest::Test\n  def test_a; f; end\n  def helper; end\n  test 'named' do\n    f\n  end\n"
            "end\n",
            ["ATest.test_a", "ATest > named"],
            id="minitest",
        ),
        pytest.param(
            "spec/a_spec.rb",
            "RSpec.describe Cart do\n  context 'empty' do\n    it('is zero') { expect(x).to eq 0 }\n    it { f }\n  end"
            "\nend\n",
            ["Cart > empty > is zero", "Cart > empty > <example>"],
            id="rspec",
        ),
    ],
)
def test_tests_are_found_by_the_customs_of_their_language(path, text, expected):
    told = outline(path, text.encode())

    assert told.fault is None
    assert [each.name for each in told.functions if each.test] == expected


PY, RS, GT, JS, JT, CT, RT, RSPEC = (
    ("test_a.py", "def test_a(self, t):\n    {}\n"),
    ("a.rs", "#[test]\nfn a() {{ {} }}\n"),
    ("a_test.go", "package a\nfunc TestA(t *testing.T) {{ {} }}\n"),
    ("a.test.js", "it('a', async (t) => {{ {} }});\n"),
    ("ATest.java", "class A {{ @Test void a() {{ {} }} }}\n"),
    ("a_test.cc", "TEST(A, B) {{ {} }}\n"),
    ("test/a_test.rb", "class A < Minitest::Test\n  def test_a\n    {}\n  end\nend\n"),
    ("a_spec.rb", "describe 'x' do\n  it 'a' do\n    {}\n  end\nend\n"),
)


@pytest.mark.parametrize(
    ("where", "body"),
    [
        (PY, "pass"),
        (PY, "..."),
        (PY, '"""It adds up."""'),
        (PY, "return"),
        (PY, "return\n    assert f()"),
        (PY, "x = 1\n    x += 2"),
        (PY, "assert True"),
        (PY, "assert 1 == 1, 'never'"),
        (PY, "assert not False"),
        (PY, "self.assertTrue(True)"),
        (PY, "self.assertEqual(1, 1)"),
        (PY, "self.assertFalse(False)"),
        (PY, "print('ok')"),
        (PY, "def inner():\n        assert f()"),
        (PY, "# assert f()\n    pass"),
        (RS, ""),
        (RS, "assert!(true);"),
        (RS, 'assert_eq!(1, 1, "same");'),
        (RS, "let x = 1;"),
        (RS, "return;"),
        (RS, 'println!("ok");'),
        (GT, ""),
        (GT, "t.Parallel()"),
        (GT, 't.Log("ok")'),
        (GT, "assert.True(t, true)"),
        (GT, "_ = 1"),
        (GT, "return\nf()"),
        (JS, ""),
        (JS, "expect(true).toBe(true)"),
        (JS, "expect(1).not.toEqual(2);"),
        (JS, "expect(true).to.be.true"),
        (JS, "assert.equal(1, 1)"),
        (JS, "assert(true)"),
        (JS, "console.log('ok')"),
        (JS, "return; f()"),
        (JT, ""),
        (JT, "assert true;"),
        (JT, "assertTrue(true);"),
        (JT, "Assertions.assertEquals(1, 1);"),
        (JT, "assertThat(true).isTrue();"),
        (CT, ""),
        (CT, "EXPECT_TRUE(true);"),
        (CT, "ASSERT_EQ(1, 1);"),
        (CT, "int a = 1; return;"),
        (RT, ""),
        (RT, "assert true"),
        (RT, "assert_equal 1, 1"),
        (RSPEC, ""),
        (RSPEC, "expect(true).to be true"),
        (RSPEC, "expect(true).to be_truthy"),
    ],
)
def test_a_test_that_calls_and_checks_nothing_is_empty(where, body):
    path, frame = where

    assert marks(path, frame.format(body)) == "e"


@pytest.mark.parametrize(
    ("where", "body"),
    [
        (PY, "assert x == 1"),
        (PY, "f()"),
        (PY, "if not x:\n        assert False"),
        (PY, "raise ValueError"),
        (PY, "with pytest.raises(E):\n        x[1]"),
        (PY, "self.assertEqual(f(), 1)"),
        (PY, "assert_round_trips('2024-01-01')"),
        (PY, "return f()"),
        (PY, "await x"),
        (PY, "print(f())"),
        (RS, "assert_eq!(total(), 1);"),
        (RS, "assert!(x);"),
        (RS, "match x { _ => assert!(false) }"),
        (RS, 'panic!("no")'),
        (GT, 'if x != 1 { t.Errorf("no") }'),
        (GT, "assert.Equal(t, 1, x)"),
        (GT, "t.Run(name, run)"),
        (GT, 't.Fatal("no")'),
        (JS, "expect(x).toBe(true)"),
        (JS, "await x"),
        (JS, "new Cart()"),
        (JS, "throw x"),
        (JS, "assert.throws(x)"),
        (JS, "assert.fail('no')"),
        (JT, "assertEquals(1, total());"),
        (JT, "new Cart();"),
        (JT, "throw x;"),
        (CT, "EXPECT_EQ(f(), 1);"),
        (CT, "EXPECT_TRUE(x);"),
        (RT, "assert_equal 1, total"),
        (RT, "total"),
        (RSPEC, "expect(cart.total).to eq 3"),
        (RSPEC, "is_expected.to be_ok"),
    ],
)
def test_a_test_that_calls_or_checks_something_is_not_empty(where, body):
    path, frame = where

    assert marks(path, frame.format(body)) == ""


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("test_a.py", "@pytest.mark.skip\ndef test_a(): f()\n"),
        ("test_a.py", "@pytest.mark.skipif(True, reason='x')\ndef test_a(): f()\n"),
        ("test_a.py", "@pytest.mark.xfail(strict=True)\n@other\ndef test_a(): f()\n"),
        ("test_a.py", "@unittest.skip('x')\ndef test_a(): f()\n"),
        ("test_a.py", "@unittest.expectedFailure\ndef test_a(): f()\n"),
        ("test_a.py", "@skipUnless(x, 'y')\nclass TestA:\n    def test_a(self): f()\n"),
        ("test_a.py", "def test_a():\n    '''doc'''\n    pytest.skip('x')\n    f()\n"),
        ("test_a.py", "def test_a(self):\n    self.skipTest('x')\n"),
        ("test_a.py", "def test_a():\n    raise unittest.SkipTest('x')\n"),
        ("test_a.py", "pytestmark = [pytest.mark.db, pytest.mark.skip]\ndef test_a(): f()\n"),
        ("test_a.py", "pytest.skip('x', allow_module_level=True)\ndef test_a(): f()\n"),
        ("test_a.py", "class TestA:\n    pytestmark = pytest.mark.skip\n    def test_a(self): f()\n"),
        ("a.rs", "#[test]\n#[ignore]\nfn a() { f(); }\n"),
        ("a.rs", '#[ignore = "slow"]\n#[test]\nfn a() { f(); }\n'),
        ("a.rs", "#[test]\n#[cfg_attr(windows, ignore)]\nfn a() { f(); }\n"),
        ("a_test.go", 'package a\nfunc TestA(t *testing.T) {\n\tt.Skip("x")\n\tf()\n}\n'),
        ("a_test.go", "package a\nfunc TestA(t *testing.T) { t.SkipNow() }\n"),
        ("a.test.js", "it.skip('a', () => { f() });\n"),
        ("a.test.js", "test.todo('a');\n"),
        ("a.test.js", "it('only a name');\n"),
        ("a.test.js", "xit('a', () => { f() });\n"),
        ("a.test.js", "xtest('a', () => { f() });\n"),
        ("a.test.js", "describe.skip('x', () => { it('a', () => { f() }) });\n"),
        ("a.test.js", "xdescribe('x', () => { it('a', () => { f() }) });\n"),
        ("a.test.js", "it.skip.each([1])('a', () => { f() });\n"),
        ("a.test.js", "test('a', { skip: true }, () => { f() });\n"),
        ("a.test.js", "test('a', { todo: 'later' }, () => { f() });\n"),
        ("a.test.js", "test('a', (t) => { t.skip(); f() });\n"),
        ("a.test.js", "it('a', function () { this.skip(); f() });\n"),
        ("a.test.ts", "it.fails('a', () => { f() });\n"),
        ("ATest.java", "class A { @Test @Disabled void a() { f(); } }\n"),
        ("ATest.java", '@Disabled("x") class A { @Test void a() { f(); } }\n'),
        ("ATest.java", "class A { @Ignore @Test public void a() { f(); } }\n"),
        ("ATest.java", "class A { @Test(enabled = false) void a() { f(); } }\n"),
        ("a_test.cc", "TEST(A, DISABLED_B) { f(); }\n"),
        ("a_test.cc", "TEST(DISABLED_A, B) { f(); }\n"),
        ("a_test.cc", "TEST(A, B) { GTEST_SKIP() << 1; f(); }\n"),
        ("a_test.cc", 'TEST_CASE("a", "[.]") { f(); }\n'),
        ("test/a_test.rb", "class A < Minitest::Test\n  def test_a\n    skip 'x'\n    f\n  end\nend\n"),
        ("test/a_test.rb", "class A < Minitest::Test\n  def test_a\n    skip\n  end\nend\n"),
        ("a_spec.rb", "describe 'x' do\n  xit('a') { f }\nend\n"),
        ("a_spec.rb", "xdescribe 'x' do\n  it('a') { f }\nend\n"),
        ("a_spec.rb", "describe 'x' do\n  it 'a', skip: 'why' do\n    f\n  end\nend\n"),
        ("a_spec.rb", "describe 'x' do\n  it 'a', :skip do\n    f\n  end\nend\n"),
        ("a_spec.rb", "describe 'x' do\n  it 'a'\nend\n"),
        ("a_spec.rb", "describe 'x' do\n  pending 'a' do\n    f\n  end\nend\n"),
    ],
)
def test_a_test_that_is_marked_is_skipped(path, text):
    assert "s" in (marks(path, text) or "")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("test_a.py", "def test_a():\n    if slow:\n        pytest.skip('x')\n    f()\n"),
        ("test_a.py", "@pytest.mark.skippable\ndef test_a(): f()\n"),
        ("test_a.py", "@pytest.mark.skip\ndef helper(): f()\n\ndef test_a(): f()\n"),
        ("test_a.py", "pytestmark = pytest.mark.db\ndef test_a(): f()\n"),
        ("a.rs", "#[ignore]\nfn x() {}\n#[test]\nfn a() { f(); }\n"),
        ("a_test.go", "package a\nfunc TestA(t *testing.T) { if testing.Short() { t.Skip() }; f() }\n"),
        ("a.test.js", "it('skip', () => { f() });\n"),
        ("a.test.js", "test('a', { skip: false }, () => { f() });\n"),
        ("a.test.js", "describe.skip('x', () => { g() });\nit('a', () => { f() });\n"),
        ("ATest.java", "class A { @Disabled void x() {} @Test void a() { f(); } }\n"),
        ("a_spec.rb", "describe 'x' do\n  it 'a', skip: false do\n    f\n  end\nend\n"),
        ("a_spec.rb", "describe 'x' do\n  it 'a' do\n    skip_validation = f\n  end\nend\n"),
    ],
)
def test_a_test_that_is_not_marked_is_not_skipped(path, text):
    assert marks(path, text) == ""


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.rs", "#[test]\n#[should_panic]\nfn a() {}\n"),
        ("ATest.java", "class A { @Test(expected = E.class) public void a() { } }\n"),
        ("a_test.go", "package a\nfunc BenchmarkA(b *testing.B) { for range b.N { x = 1 } }\n"),
        ("a.test.js", "it('a', helper);\n"),
    ],
)
def test_a_test_whose_marks_or_function_check_is_not_empty(path, text):
    assert marks(path, text) == ""


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("a.py", "x = 1\ndef f(:\n", 2),
        ("a.rs", "fn a() {}\nfn b( {}\n", 2),
        ("a.go", "package a\n\nfunc {\n", 3),
        ("a.js", "const a = ;\n", 1),
        ("a.ts", "class {{{\n", 1),
        ("A.java", "class A {\n  void (\n}\n", 2),
        ("a.c", "int f( { ) }\n", 1),
        ("a.rb", "x = 1\ny = )\n", 2),
    ],
)
def test_a_syntax_error_is_a_fault_with_its_line(path, text, line):
    assert outline(path, text.encode()).fault == f"a syntax error at line {line}"


def test_functions_around_a_syntax_error_are_still_told():
    told = outline("a.py", b"def f():\n    pass\n\n\nx = = 1\n\n\ndef g():\n    pass\n")

    assert told.fault == "a syntax error at line 5"
    assert {each.name for each in told.functions} == {"f", "g"}


def test_a_header_is_read_as_cpp_and_as_c_where_that_does_not_fit():
    cpp = outline("a.h", b"namespace a { class B { int f() { return 1; } }; }\n")
    plain = outline("a.h", b"int f(int class, int new) { return class + new; }\n")

    assert (cpp.language, cpp.fault, [each.name for each in cpp.functions]) == ("cpp", None, ["a.B.f"])
    assert (plain.language, plain.fault, [each.name for each in plain.functions]) == ("c", None, ["f"])


def test_a_file_of_another_language_has_its_lines():
    told = outline("a.kt", b"fun f() {}\n")

    assert (told.language, told.lines, told.functions, told.fault) == (None, 1, (), None)


def test_a_file_that_is_too_large_or_no_text_has_its_lines_and_a_fault():
    large = outline("a.py", b"x = 1\n" * (MOST_BYTES // 6 + 1))
    binary = outline("a.py", b"\0\n\n")

    assert (large.lines, large.fault) == (MOST_BYTES // 6 + 1, f"larger than {MOST_BYTES} bytes")
    assert (binary.lines, binary.fault) == (2, "no text")
    assert outline("a.bin", b"\0").fault == "no text"


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_every_end_of_a_line_counts_alike(ends):
    text = "def f():\n    x = 1 + \\\n        2\n    return x\n".replace("\n", ends)

    told = outline("a.py", text.encode())

    assert (told.lines, told.fault) == (4, None)
    assert [(each.start, each.end) for each in told.functions] == [(1, 4)]


def test_bytes_that_are_no_text_in_names_do_not_matter():
    told = outline("test_\udcff.py", "# é\n".encode("latin-1") + b"def f(): pass\n")

    assert [each.name for each in told.functions] == ["f"]


@pytest.mark.parametrize("data", [b"", b"\n", b"\xef\xbb\xbfdef f(): pass\n", b"\xff\xfe\xfd", b"\x1b[2J"])
def test_odd_files_have_an_outline(data):
    assert outline("a.py", data).language == "python"


def test_names_stay_short_however_deep_they_stand():
    text = "".join(f"{'  ' * depth}class {'C' * 60}:\n" for depth in range(9)) + "  " * 9 + "def f(): pass\n"

    (only,) = outline("a.py", text.encode()).functions

    assert len(only.name) == NAME
    assert only.name.endswith(".f")


def test_more_functions_than_anybody_writes_are_a_fault():
    told = outline("a.js", b"()=>1;\n" * (MOST_FUNCTIONS + 1))

    assert told.fault == f"more than {MOST_FUNCTIONS} functions"
    assert len(told.functions) == MOST_FUNCTIONS


@pytest.mark.parametrize("path", ["a.py", "a.js", "a.ts", "a.c", "a.cpp", "A.java", "a.go", "a.rs", "a.rb"])
@pytest.mark.parametrize("opened", [b"(", b"[", b"{", b"f("])
def test_deep_nesting_is_walked_without_recursion(path, opened):
    told = outline(path, opened * 100_000)

    assert told.language is not None
    assert told.lines == 1


def test_functions_nested_by_the_thousand_are_counted():
    told = outline("a.js", b"()=>" * 5_000 + b"1\n")

    assert len(told.functions) == 5_000
    assert told.fault is None
