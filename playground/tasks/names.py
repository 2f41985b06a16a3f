"""Names: given names, letter by letter. Many letters may follow; what can be learnt is how likely each of them is."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache

from playground.tasks.example import Example
from playground.tasks.task import Task, without_specials

# Given names of many countries, without accents.
_LIST = """
aaron abigail abraham ada adam adela adele adrian adriana agatha agnes agustin aidan aileen aimee alan alana alba
albert alberta alejandro alessandra alessia alex alexander alexandra alexis alfred alfredo alice alicia alina alison
alma alvin amalia amanda amber amelia amelie amir amy ana anais anastasia andre andrea andreas andrew andy angel
angela angelica angelina angus anika anita anja ann anna annabel anne annette annie anthony antoine anton antonia
antonio april ariana ariel arlene armand armando arnold arthur arturo ashley astrid audrey august augusta augustine
aurelia aurelie aurora austin ava barbara barry bartholomew basil beata beatrice beatrix becky belinda bella ben
benedict benedikt benjamin bernadette bernard bernardo bertha bertram beth bethany betty beverly bianca bill blake
blanca bonnie boris brandon brenda brendan brian bridget bruce bruno bryan caitlin caleb calvin camilla camille
candice carina carl carla carlos carmen carol carolina caroline carolyn carrie carter casey casimir cassandra catalina
catherine cecilia cedric celeste celia celine cesar chad chantal charles charlie charlotte chelsea cheryl chloe chris
christian christiane christina christine christoph christopher cindy claire clara clarence clarissa claude claudia
claudio clemens clement clementine cleo clifford clint clive colette colin conrad constance constantin cora cordelia
corinna corinne cornelia cornelius craig cristina curtis cynthia cyril daisy damian damien dan dana daniel daniela
danielle danny daphne daria dario darius darren david dawn dean deborah debra delia denise dennis derek diana diane
diego dieter dina dinah dirk dolores dominic dominik dominique donald donna dora doreen dorian doris dorothea dorothy
douglas duncan dustin dylan earl eddie edgar edith edmund eduardo edward edwin eileen elaine eleanor elena eleonora
eli elias elijah elina elisa elisabeth elise eliza elizabeth ella ellen elliot elmer eloise elsa elsie elvira emanuel
emil emilia emilie emilio emily emma emmanuel enrico enrique eric erica erich erika ernest ernesto ernst erwin
esmeralda esperanza estelle esther ethan ethel eugene eugenia eva evan evelyn fabian fabien fabio faith fanny fatima
federica federico felicia felicity felipe felix ferdinand fernanda fernando fiona flora florence florian fran frances
francesca francesco francine francis francisco francois frank franz fred freda frederic frederick frieda friedrich
fritz gabriel gabriela gabrielle gareth gary gaston gavin gemma gene genevieve geoffrey george georgia georgina gerald
geraldine gerard gerhard gertrude gilbert gilda gina giovanni gisela giselle giulia giuseppe gladys glen glenda gloria
gordon grace graham grant greg gregor gregory greta guido guillaume guillermo gunther gustav guy gwen hanna hannah
hannes hans harold harriet harry harvey hazel heather hector heidi heinrich heinz helen helena helene helga henri
henrietta henrik henry herbert herman hermann hilary hilda holly hope horace howard hubert hugh hugo humphrey ian ida
ignacio igor ilona ilse imogen ines ingrid ira irene irina iris irma isaac isabel isabella isabelle isadora ismael
ivan ivana ivy jack jackson jacob jacqueline jacques jade jaime jake jakob james jan jana jane janet janice janina
jasmine jason jasper javier jay jean jeanette jeanne jeff jeffrey jennifer jenny jeremy jerome jerry jesse jessica
jill joan joanna joaquin jocelyn joe joel johan johann johanna john johnny jolene jon jonas jonathan jordan jorge jose
josef joseph josephine joshua joy joyce juan juanita judith judy jules julia julian juliana julie julien juliet
juliette julio julius june justin justina justine kai karen karin karina karl karla kate katherine kathleen kathryn
katie katja katrin kay keith kelly ken kenneth kevin kim kirsten klara klaus konrad kristen kristin kristina kurt kyle
lana lara larissa larry lars laura lauren laurence laurent lawrence lea leah leander leila lena leo leon leona leonard
leonardo leonie leonora leopold leroy leslie lester letitia lewis liam lidia liesel lilian liliana lillian lily lina
linda lionel lisa liv lizzie lloyd lois lola lorena lorenz lorenzo loretta lorna lorraine lothar lotte louis louisa
louise luca lucas lucia lucian luciano lucie lucille lucinda lucy ludwig luigi luis luisa lukas luke lydia lynn mabel
madeleine mae maggie magnus maja malcolm mandy manfred manuel manuela mara marc marcel marcella marcia marco marcus
margaret margarita margo maria mariana marianne marie marina mario marion marisa marius marjorie mark marlene marta
martha martin martina marvin mary mateo mathias mathilda matilda matteo matthew matthias maud maura maureen maurice
mauricio max maximilian maxine may maya megan melanie melina melinda melissa mercedes meredith mia michael michaela
michel michelle miguel mila milan mildred milena milo milton mina mira miranda miriam mitchell moira molly mona monica
monika moritz morris moses muriel myra nadia nadine nancy naomi natalia natalie natasha nathan nathaniel neil nelson
nerys nicholas nick nicola nicolas nicole nigel nikita nina noah noel noelle nora norbert norma norman octavia odette
olaf olga olive oliver olivia omar ophelia orlando oscar oswald ottilie otto owen pablo paige pamela paola paolo
pascal patrice patricia patrick patsy paul paula paulina pauline pearl pedro peggy penelope percy perry peter petra
philip philippa phoebe phyllis pierre pilar polly priscilla quentin quincy rachel rafael ralph ramon ramona randolph
raphael raquel raul ray raymond rebecca regina reginald reinhard rene renee reuben rex rhoda ricardo richard rita
robert roberta roberto robin rodney rodrigo roger roland rolf roman romeo ron ronald rosa rosalie rosalind rose
rosemary rosie ross rowan roy ruben ruby rudolf rufus rupert russell ruth ryan sabina sabine sabrina salvador sam
samantha samuel sandra sara sarah sasha saul scott sean sebastian selena selma serena serge sergio seth shane sharon
sheila shirley sibyl sidney siegfried sigrid silas silvia simon simona simone sofia solomon sonia sophia sophie stacy
stanley stefan stefanie stella stephan stephanie stephen steve steven stuart susan susanna susanne suzanne sven
sybille sylvester sylvia sylvie tabitha tamara tania tara tatiana ted terence teresa terry tess thea thelma theo
theodor theodora theodore theresa therese thomas tiffany tilda tim timothy tina tobias todd tom tommy toni tony tracy
travis trevor tristan trudy tyler ulrich ulrike una ursula valentin valentina valeria valerie vanessa vera verena
verity vernon veronica vicky victor victoria vincent viola violet virginia vivian vladimir walter wanda warren wayne
wendy werner wilfred wilhelm willa william willow winifred winston wolfgang xavier yasmin yolanda yves yvette yvonne
zachary zelda zoe
"""

_GIVEN = 2  # letters that a held-out name begins with


@cache
def _names() -> tuple[str, ...]:
    return tuple(dict.fromkeys(_LIST.split()))


def _pairs() -> Iterator[Example]:
    for name in _names():
        yield Example(tuple(name[:_GIVEN]), tuple(name[_GIVEN:]), ())


def _open(src: Sequence[str]) -> Example | None:
    """Return None: a beginning has many ends, and none of them is the right one."""
    return None


def letters(text: str) -> list[str]:
    """Split a text into its characters."""
    return [sign for sign in unicodedata.normalize("NFKC", text) if not sign.isspace() and sign not in ",.;、。"]


def spell(letter: str) -> tuple[str, ...]:
    """Return the token that a typed letter stands for."""
    return (letter.lower(),)


def joined(tokens: Sequence[str]) -> str:
    """Write letters without blanks."""
    return "".join(without_specials(tokens))


NAMES = Task(
    name="names",
    src_language="tasks.languages.beginning",
    tgt_language="tasks.languages.going_on",
    examples=("ma", "el", "jo", "ch", "an", "ro", "vi", "th"),
    pairs=_pairs,
    reference=_open,
    words=letters,
    spell=spell,
    detokenize=joined,
    join="".join,
    architecture="decoder-only",
    whole=True,
)
