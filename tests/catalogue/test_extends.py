"""A file that extends another has everything that it leaves out from it, whatever the key."""

import json
import re
from pathlib import Path

import pytest

import fastcalc
from fastcalc.catalogue import inputs, store
from fastcalc.catalogue.folders import names
from fastcalc.catalogue.kinds import SCHEMAS
from fastcalc.catalogue.reader import read
from fastcalc.catalogue.store import Catalogue
from fastcalc.errors import InputError
from fastcalc.features.check.lint import check
from fastcalc.features.entries.run import find
from tests.helpers import run, sweep

ITS_OWN = {"id", "name", "aliases", "extends"}
LOADERS = {"hardware": Catalogue.hardware, "models": Catalogue.model, "engines": Catalogue.engine}


@pytest.fixture
def own(tmp_path):
    folders = {kind: tmp_path / kind for kind in SCHEMAS}
    for folder in folders.values():
        folder.mkdir()

    def write(kind, **files):
        for name, text in files.items():
            (folders[kind] / f"{name}.yaml").write_text(f"id: {name}\n{text}")
        return Catalogue({name: (folder,) for name, folder in folders.items()})

    return write


@pytest.mark.thorough
@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_child_that_only_extends_has_every_field_of_its_parent(own, catalogue, kind):
    """Each field of each shipped file; a new field of a schema is inherited without more."""
    parents = catalogue.names(kind)
    files = {f"its-{name}": f"name: Its\nextends: {name}\n" for name in parents}
    extended = own(kind, **files)
    for name in parents:
        parent, child = LOADERS[kind](catalogue, name), LOADERS[kind](extended, f"its-{name}")
        assert child.name == "Its"
        fields = set(type(parent).model_fields) - ITS_OWN
        different = [key for key in fields if getattr(child, key) != getattr(parent, key)]
        assert (name, different) == (name, [])


def test_an_inherited_number_keeps_its_source(catalogue):
    """Also where a child gives the name of that source to another one; of all chips, and of some."""
    inherited = 0
    for name in catalogue.names("engines"):
        stated = read(Path(catalogue.find(name, "engines"))).mapping()
        if "extends" not in stated:
            continue
        child, parent = catalogue.engine(name), catalogue.engine(stated["extends"])
        own = stated.get("parameters", {}).keys()
        numbers = [(child.parameters, parent.parameters, own)]
        for group, of_parent in parent.architectures.items():
            in_group = stated.get("architectures", {}).get(group, {}).keys()
            numbers.append((child.architectures[group], of_parent, own | in_group))
        for of_child, of_parent, replaced in numbers:
            found = dict(of_child)
            for key, number in of_parent:
                if number and number.source and key not in replaced:
                    title = child.sources[found[key].source].title
                    assert (name, key, title) == (name, key, parent.sources[number.source].title)
                    inherited += 1
    assert inherited > 1000


def test_a_source_of_the_same_name_is_another_one(own):
    source = "{{title: {}, url: 'https://a.example/{}', accessed: '2026-11-01'}}"
    entries = own(
        "engines",
        old="name: Old\nfitted_on: nothing\nparameters:\n"
        "  bandwidth_fraction: {value: 0.5, source: log}\n"
        "  compute_fraction: {value: 0.25, source: log}\n"
        f"sources: {{log: {source.format('Old log', 'old')}}}\n",
        new="extends: old\nparameters: {compute_fraction: {value: 0.5, source: log}}\n"
        f"sources: {{log: {source.format('New log', 'new')}}}\n",
    )
    found = entries.engine("new")
    titles = {
        name: found.sources[number.source].title for name, number in found.parameters if number
    }
    assert titles == {"bandwidth_fraction": "Old log", "compute_fraction": "New log"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "engine", sweep(names("engines"), lambda engine: engine not in ("vllm", "cerebras"))
)
def test_a_child_of_an_engine_answers_every_request_as_its_parent(own, tmp_path, engine):
    own("engines", heir=f"extends: {engine}\n")
    folder = {"engines_dir": tmp_path / "engines"}
    compare = {"on": "h100-sxm,rtx-4090,trainium-2", "weights": "fp8", "batch": [1, 64]}
    for command, asked in (("compare", compare), ("plan", {"on": "h100-sxm,apple-m3"})):
        theirs, its = (
            getattr(fastcalc, command)("llama-3.1-8b", engine=name, **asked, **folder)
            for name in (engine, "heir")
        )
        assert len(theirs) > 0
        answers = [str([dict(record) for record in table]) for table in (its, theirs)]
        # A note says which engine a chip has by default: an heir is none.
        its_own, parents = (re.sub(r" \(default for [a-z]+ chips\)", "", text) for text in answers)
        assert its_own.replace(" (heir)", "").replace("heir", engine) == parents


@pytest.mark.parametrize("parent", ["wse-3", "llama-3.1-8b", "tensorrt-llm"])
def test_three_keys_suffice_wherever_the_file_lies(tmp_path, parent):
    path = tmp_path / "mine.yaml"
    path.write_text(f"id: mine\nname: Mine\nextends: {parent}\n")
    assert check([path], strict=True).is_clean
    assert Catalogue().of_any_kind(path).extends == parent


def test_an_engine_stands_before_its_parents_numbers_for_single_chips(own, catalogue):
    """The gpu engine has a bandwidth_fraction of its own for Ampere; a child's holds there, too."""
    mine = own("engines", mine="extends: gpu\nparameters: {bandwidth_fraction: 0.5}\n")
    assert mine.engine("mine").on("gpu", "ampere").bandwidth_fraction.si == 0.5
    base = catalogue.engine("gpu").on("gpu", "pcie", "ampere")
    assert mine.engine("mine").on("gpu", "pcie", "ampere").link_fraction == base.link_fraction


def test_what_is_a_whole_is_not_joined_to_the_parents(own):
    """Ranges are residuals of one fit, a source is one document."""
    text = (
        "extends: young\nranges: {unseen: {below: 3, above: 3, basis: mine}}\n"
        "sources: {fit: {title: Mine}}\n"
    )
    engine = own("engines", mine=text).engine("mine")
    assert list(engine.ranges) == ["unseen"]
    chip = own("hardware", chip="extends: h100-sxm\nsources: {datasheet: {title: Mine}}\n")
    assert chip.hardware("chip").sources["datasheet"].url is None
    assert chip.hardware("chip").sources["device"].url


def test_a_fault_of_the_parent_is_placed_in_its_own_file(own, tmp_path):
    extended = own(
        "engines",
        mine="extends: theirs\n",
        theirs="name: T\nfitted_on: x\nparameters: {memory_fraction: 7}\n",
    )
    with pytest.raises(InputError, match=r"mine\.yaml:2:10: \S*theirs\.yaml:4:31: parameters\.mem"):
        extended.engine("mine")


@pytest.mark.thorough
@pytest.mark.parametrize("kind", sweep(SCHEMAS, lambda kind: kind != "engines"))
def test_a_chain_has_a_longest_length(own, kind):
    parent = {"hardware": "wse-3", "models": "llama-3.1-8b", "engines": "vllm"}[kind]
    links = {"link-0": f"extends: {parent}\n"}
    links |= {f"link-{step}": f"extends: link-{step - 1}\n" for step in range(1, 1500)}
    extended = own(kind, **links)
    assert LOADERS[kind](extended, "link-28").id == "link-28"
    with pytest.raises(InputError, match=r"link-1469\.yaml:2:10: 30 entries that extend one anoth"):
        LOADERS[kind](extended, "link-1499")


@pytest.mark.parametrize("base", ["{}/secret.yaml", "../secret.yaml", "engines/../../secret.yaml"])
def test_a_file_that_is_checked_opens_none_by_its_path(own, tmp_path, monkeypatch, base):
    """A pull request could have any file of the machine read, and its beginning printed."""
    (tmp_path / "secret.yaml").write_text("password: hunter2\n")
    extended = own("hardware", mine=f"name: Mine\nextends: {base.format(tmp_path)}\n")
    monkeypatch.chdir(tmp_path / "hardware")
    opened = []
    monkeypatch.setattr(store, "read", lambda path: opened.append(path.name) or read(path))
    with pytest.raises(InputError, match=r"mine\.yaml:3:10: .* is a path, which extends does not"):
        extended.hardware("mine")
    (fault,) = check([Path("mine.yaml")]).faults
    assert (fault.rule, fault.line) == ("ST023", 3)
    assert set(opened) <= {"mine.yaml"}


@pytest.mark.parametrize("base", ["theirs", "theirs.yaml"])
def test_a_file_extends_what_stands_alongside_it(tmp_path, base):
    """Named by its path, its folder need not be a folder of entries; the catalogue's come first."""
    folder = tmp_path / "chips"
    folder.mkdir()
    (folder / "mine.yaml").write_text(f"id: mine\nextends: {base}\nname: Mine\n")
    (folder / "theirs.yaml").write_text("id: theirs\nextends: wse-3\nname: Theirs\n")
    (folder / "wse-3.yaml").write_text("id: wse-3\n")
    chip = Catalogue().hardware(str(folder / "mine.yaml"))
    assert (chip.name, chip.memory) == ("Mine", Catalogue().hardware("wse-3").memory)


def test_a_whole_disk_is_not_walked(tmp_path, monkeypatch):
    """A hundred folders that lead nowhere are as many files as are walked here."""
    monkeypatch.setattr(inputs, "MOST_WALKED", 100)
    (tmp_path / "mine.yaml").write_text("id: mine\nextends: wse-3\nname: Mine\n")
    for count in range(99):
        (tmp_path / f"{count}").mkdir()
    assert check([tmp_path]).files == 1
    (tmp_path / "more").mkdir()
    with pytest.raises(InputError, match=r"more than 100 files; name the folders of hardware"):
        check([tmp_path])


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("cache_formats: [{cache: fp99, source: x}]", r"4:25: cache_formats\S+: 'fp99'"),
        ("cache_formats: [{weights: [fp1], cache: fp8, source: x}]", r"4:28: cache_for\S+: 'fp1'"),
        ("formats: [{weights: [fp7], caches: [], source: x}]", r"4:22: formats\S+: 'fp7'"),
        ("formats: [{weights: [], caches: [q6_k], source: x}]", r"4:34: formats\S+: 'q6_k'"),
    ],
)
def test_an_engines_unknown_format_is_refused_where_it_stands(own, text, place):
    """Not by the first request that comes upon it, which names no file."""
    extended = own("engines", mine=f"name: Mine\nextends: vllm\n{text}\n")
    with pytest.raises(InputError, match=rf"mine\.yaml:{place} is not a (weight|KV cache) format"):
        extended.engine("mine")


def test_an_engine_applies_to_a_release_of_the_one_that_it_extends(tmp_path, catalogue):
    """vLLM 0.19 without graphs: its own reserve and share, and launches as in engines/eager.yaml."""
    (tmp_path / "mine.yaml").write_text("id: mine\nextends: vllm-0.19\n")
    own = Catalogue({"engines": (tmp_path,)})
    release, eager = catalogue.engine("vllm-0.19"), catalogue.engine("eager")
    for name in ("vllm-0.19+eager", "vllm-0.18+vllm-eager", f"{tmp_path}/mine.yaml+eager"):
        engine = own.engine(name)
        stated = engine.parameters
        assert stated.memory_fraction == release.parameters.memory_fraction
        assert stated.sampler_copies == release.parameters.sampler_copies
        assert stated.decode_layer_floor == eager.parameters.decode_layer_floor
        assert engine.id in ("vllm-0.19+eager", "mine+eager")
        assert own.engine(engine.id) is engine
    assert own.engine("vllm-0.19+eager").bases == (
        "eager",
        "vllm-0.19",
        "vllm-0.25",
        "vllm-0.32",
        "vllm",
        "gpu",
    )


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("llama-cpp+eager", r"eager extends vllm, and llama-cpp does not: write vllm\+eager"),
        ("sglang+eager", r"eager extends vllm, and sglang does not: write vllm\+eager"),
        ("vllm+llama.cpp", "llama-cpp is not a variant of vllm: write llama-cpp"),
        ("llama-cpp+exllama", "exllama is not a variant of llama-cpp: write exllama"),
        ("vllm+tpu", "tpu is not a variant of vllm: write tpu"),
        ("young+gpt-fast", "gpt-fast is not a variant of young: write gpt-fast"),
        ("vllm-0.19+eager+eager", r"vllm-0.19\+eager includes eager: write vllm-0.19\+eager$"),
        ("splitwise-2023+eager", "splitwise-2023 includes eager: write splitwise-2023"),
        ("eager+vllm", "eager includes vllm: write eager"),
        ("+eager", r"no engine precedes the '\+': write for example vllm\+eager, or eager"),
        ("vllm-0.19+", r"no engine follows the '\+': write vllm-0.19"),
        ("vlm+eager", "no engine is called 'vlm'; did you mean vllm"),
        ("vllm-0.19+eagr", "no engine is called 'eagr'; did you mean eager"),
        ("vllm-0.19+egr+eager", "no engine is called 'egr'"),
    ],
)
def test_only_a_variant_of_the_same_program_joins_an_engine(catalogue, own, name, why):
    """On the command line, in show and diff, and in a file, where the message has its line."""
    with pytest.raises(InputError, match=why):
        catalogue.engine(name)
    with pytest.raises(InputError, match=why):
        find(catalogue, name)
    extended = own("engines", heir=f"extends: {name}\n")
    with pytest.raises(InputError, match=rf"heir.yaml:2:10: .*{why}"):
        extended.engine("heir")


def test_a_file_extends_an_engine_joined_with_a_variant(own, tmp_path):
    """As on the command line; in the catalogue, beside it, and under check."""
    written = own("engines", mine="extends: vllm-0.19\n", heir="extends: vllm-0.19+eager\n")
    heir, joined = written.engine("heir"), written.engine("vllm-0.19+eager")
    assert heir.parameters == joined.parameters
    assert heir.bases == joined.bases
    beside = tmp_path / "beside.yaml"
    (tmp_path / "other.yaml").write_text("id: other\nextends: vllm-0.19\n")
    beside.write_text("id: beside\nextends: other+eager\n")
    numbers = {key: number.text for key, number in joined.parameters if number}
    found = Catalogue().engine(str(beside)).parameters
    assert {key: number.text for key, number in found if number} == numbers
    assert not [fault for fault in check([beside]).faults if fault.severity == "error"]
    circle = own("engines", mine="extends: mine+eager\n")
    with pytest.raises(InputError, match="entries extend each other in a circle"):
        circle.engine("mine")


def test_an_engine_with_a_variant_is_shown(catalogue, capsys, monkeypatch):
    streams = {"capsys": capsys, "monkeypatch": monkeypatch}
    assert "vllm-0.19+eager" in run("show", "vllm-0.19+eager", **streams).out
    host_time = catalogue.engine("eager").parameters.decode_layer_floor.text
    assert host_time in run("show", "vllm-0.19+eager", **streams).out
    assert host_time in run("diff", "vllm-0.19", "vllm-0.19+eager", **streams).out


def test_a_server_without_graphs_reserves_no_memory_for_them(catalogue):
    """On Blackwell, too, where graphs of models with recurrent states have a buffer for each row."""
    chip = catalogue.hardware("rtx-pro-6000-server")
    kept = ("graph_memory", "graph_layer_memory", "graph_row_memory", "narrow_cache_memory")
    for name in kept:
        assert catalogue.engine("eager").on(*chip.groups).given[name].si == 0.0


def measured(chips, *batches):
    """Key of an engine file with rows of a deployment at some batches, each with its factor."""
    rows = [
        {"batch": batch, "context": 1500, "prompt": 1000, "decode_share": 1, "slower": slower}
        for batch, slower in batches
    ]
    names = {"hardware": "h100-sxm", "model": "llama-3.1-70b", "weights": "bf16", "kv": "bf16"}
    deployment = {**names, "chips": chips, "tp": chips, "file": "runs.csv", "rows": rows}
    return f"own_deployments: {json.dumps([deployment])}\n"


def test_rows_of_measurements_join_those_of_the_extended_engine(own):
    """Rows of another layout or batch are added; at the same batch and lengths the child's apply."""
    engines = own(
        "engines",
        mine="extends: vllm\n" + measured(8, (1, 0.8), (64, 1.4)),
        layout="extends: mine\n" + measured(4, (1, 1.1)),
        batches="extends: mine\n" + measured(8, (16, 1.2), (64, 1.3)),
    )
    layouts = engines.engine("layout").own_deployments
    assert [(item.tp, len(item.rows)) for item in layouts] == [(4, 1), (8, 2)]
    assert layouts[1] == engines.engine("mine").own_deployments[0]
    (joined,) = engines.engine("batches").own_deployments
    rows = [(row.batch, row.slower) for row in joined.rows]
    assert rows == [(16, 1.2), (64, 1.3), (1, 0.8)]


def test_rows_do_not_outlive_the_values_they_were_compared_with(own):
    """A factor is over the time that an engine predicts: new fitted values, other factors."""
    fit = "sources: {fit: {title: Fit}}\nparameters: {stage_overhead: {value: 1 ms, source: fit}}\n"
    engines = own(
        "engines",
        mine="extends: vllm\n" + measured(8, (1, 0.8)),
        fitted="extends: mine\n" + fit + measured(4, (1, 1.1)),
        only="extends: mine\n" + fit,
        limit="extends: mine\nparameters: {max_sequences: 8}\n",
    )
    assert [item.tp for item in engines.engine("fitted").own_deployments] == [4]
    assert engines.engine("only").own_deployments == []
    assert engines.engine("mine+eager").own_deployments == []
    assert [item.tp for item in engines.engine("limit").own_deployments] == [8]
